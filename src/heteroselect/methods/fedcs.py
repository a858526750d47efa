from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import select

ENTRY = Entry(
    Method("fedcs", select=select.FedCS()),
    family="selection",
    summary="as many clients as fit into a deadline",
    paper='Nishio, Yonetani, "Client selection for federated learning with heterogeneous resources in mobile edge", ICC 2019',
    leaves_out="the deadline of 180 s, which never binds here: by default four in ten clients meet it "
    "(`method.select.quantile`); and one link for all uploads: they run at once, and twice as many candidates are asked as "
    "there are places",
)
