from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import train

ENTRY = Entry(
    Method("fedprox", solver=train.SGD(proximal=0.01)),
    family="optimisation",
    summary="FedAvg with a pull towards the global model",
    paper='Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith, "Federated optimization in heterogeneous networks", MLSys 2020',
    leaves_out="work until a stated accuracy, a different amount per client: the number of steps is given",
)
