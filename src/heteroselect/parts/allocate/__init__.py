"""How much may each send?"""

from heteroselect.parts.allocate.deadline import Deadline as Deadline
from heteroselect.parts.allocate.density import All as All
from heteroselect.parts.allocate.density import Allocation as Allocation
from heteroselect.parts.allocate.density import ScoreShare as ScoreShare
from heteroselect.parts.allocate.density import UniformShare as UniformShare
from heteroselect.parts.allocate.density import Waterfill as Waterfill
from heteroselect.parts.allocate.fedband import FedBand as FedBand
from heteroselect.parts.allocate.fedcg import FedCG as FedCG
from heteroselect.parts.allocate.flexcom import FlexCom as FlexCom
from heteroselect.parts.allocate.optrate import OptRate as OptRate
from heteroselect.parts.allocate.price import Price as Price
from heteroselect.parts.allocate.waterfill import waterfill as waterfill
