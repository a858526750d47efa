from heteroselect.methods.entry import Entry, Method
from heteroselect.parts import aggregate, train

ENTRY = Entry(
    Method("feddyn", lr=train.SharedRate(start=0.2), solver=train.FedDyn(), weigh=aggregate.Equal()),
    family="optimisation",
    summary="local objectives bent to the global optimum",
    paper='Acar, Zhao, Matas, Mattina, Whatmough, Saligrama, "Federated learning based on dynamic regularization", ICLR 2021',
    leaves_out="the division of α by K·p_k of the authors' code: it is one α for all",
)
