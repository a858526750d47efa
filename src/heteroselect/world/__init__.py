"""What a round runs in: links, devices, who is available, faults, the clock and the ledger."""

from heteroselect.world.attack import Attack
from heteroselect.world.availability import Availability, Intervals, day_cycle, gone
from heteroselect.world.clock import Clock, Spent, time_budget
from heteroselect.world.coupling import Coupling
from heteroselect.world.devices import Devices, DeviceTable, FlopDevices, GivenDevices
from heteroselect.world.drawn import DrawnWorld
from heteroselect.world.faults import Event, Faults
from heteroselect.world.links import GivenLinks, Links, MeasuredLinks
from heteroselect.world.read import read_devices, read_intervals, read_link_trace
from heteroselect.world.traces import LinkTrace, Rates, TracedLinks
from heteroselect.world.world import Environment, World, measured_links, refuse_bad_conditions, typical

__all__ = [
    "Attack",
    "Availability",
    "Clock",
    "Coupling",
    "DeviceTable",
    "Devices",
    "DrawnWorld",
    "Environment",
    "Event",
    "Faults",
    "FlopDevices",
    "GivenDevices",
    "GivenLinks",
    "Intervals",
    "LinkTrace",
    "Links",
    "MeasuredLinks",
    "Rates",
    "Spent",
    "TracedLinks",
    "World",
    "day_cycle",
    "gone",
    "measured_links",
    "read_devices",
    "read_intervals",
    "read_link_trace",
    "refuse_bad_conditions",
    "time_budget",
    "typical",
]
