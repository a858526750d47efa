"""Every setting of a run: its name, its meaning, what is allowed, and the paper's value as the default.

The groups are the rooms of the house. `describe` turns the same text into the list that
`heteroselect settings` prints and into the errors for people.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

Fraction = Annotated[float, Field(ge=0, le=1)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]
Density = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
CountOrNone = Annotated[int, Field(ge=0)]


class Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        """Pydantic would take true for 1."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation in (int, float):
            raise PydanticCustomError("number", "a number")
        return value


class DataSettings(Group):
    name: str = "mnist"
    """mnist, cifar10, cifar100, tinyimagenet, or the path of an .npz file with x and y"""
    dir: str = ""
    """the folder the data lies in (--data-dir); empty: HETEROSELECT_DATA, ./data and the user's cache"""
    partition: Literal["dominant", "missing", "dirichlet", "iid", "shards"] = "dominant"
    """how the examples are dealt out to the clients"""
    variant: Literal["disjoint", "authors"] = "disjoint"
    """authors: dominant and missing as the paper's authors drew them, late clients short or overlapping"""
    dominant_fraction: Fraction = 0.4
    """ψ, the share of a client's dominant class; 0 is IID"""
    missing_classes: CountOrNone = 40
    """classes each client lacks"""
    dirichlet_alpha: Positive = 0.5
    """concentration of the Dirichlet partition"""
    shards_per_client: Count = 2
    """label-sorted shards each client gets"""
    augment: bool = True
    """crop and flip training images, where the data set is one that is augmented"""
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """held out for testing where an .npz file has no test part"""


class ModelSettings(Group):
    name: Literal["logistic", "alexnet", "resnet9", "resnet18", "own"] = "logistic"
    """the network; own is one handed over in Python"""
    dropout: BelowOne = 0.5
    """of AlexNet's last hidden layer"""
    init: Literal["torch", "kaiming"] = "torch"
    """initial weights: as PyTorch makes them, or normal with variance 2/fan-in and no biases (He et al. 2015)"""


class FaultSettings(Group):
    missing: Fraction = 0.0
    """chance of a client that never answers"""
    late: Fraction = 0.0
    """chance of an answer that takes late_factor times as long"""
    late_factor: Annotated[float, Field(ge=1)] = 3.0
    """how much longer a late answer takes"""
    late_rule: Literal["drop", "wait"] = "drop"
    """what the server does about answers past the deadline"""
    corrupt: Fraction = 0.0
    """chance of a payload with a flipped byte"""
    nan: Fraction = 0.0
    """chance of an update with a NaN in it"""
    inf: Fraction = 0.0
    """chance of an update with an infinity in it"""
    scaled: Fraction = 0.0
    """chance of an update a million times too long"""

    @model_validator(mode="after")
    def _one_fate_each(self) -> "FaultSettings":
        total = self.missing + self.late + self.corrupt + self.nan + self.inf + self.scaled
        if total > 1 + 1e-9:
            raise ValueError(f"missing, late, corrupt, nan, inf and scaled must sum to at most 1, not {total:g}")
        return self


class WorldSettings(Group):
    links: Literal["drawn", "measured"] = "drawn"
    """uplinks drawn as below, or measured at every upload (on SuperNodes of Flower only)"""
    links_keep: BelowOne = 0.5
    """what the estimate of a measured link keeps at each new measurement"""
    bandwidth_min_mbps: Positive = 1.0
    """slowest uplink, Mb/s; drawn anew for each client and round"""
    bandwidth_max_mbps: Positive = 5.0
    """fastest uplink, Mb/s"""
    stress: Literal["none", "inverse", "permuted"] = "none"
    """links coupled to the loss: the authors' formula, or the usual draws handed out in inverse order of loss"""
    step_seconds_min: NotNegative = 0.1
    """seconds a local step takes the fastest device; drawn once a client"""
    step_seconds_max: NotNegative = 0.5
    """seconds a local step takes the slowest device"""
    devices: Literal["streams", "authors"] = "streams"
    """authors: the device speeds behind the authors' logs"""
    downlink_min_mbps: Positive = 5.0
    """slowest downlink, Mb/s"""
    downlink_max_mbps: Positive = 25.0
    """fastest downlink, Mb/s"""
    charge: Literal["paper", "uplink", "everything"] = "paper"
    """what the clock counts: θ·32N bits up, the real payloads, or also downloads, scoring and calibration"""
    forward_share: Fraction = 1 / 3
    """time of a forward pass as a share of a training step"""
    budget_seconds: NotNegative = 0.0
    """T_budget of the ceiling; 0 is the round of an average client"""
    deadline: NotNegative = 0.0
    """seconds a round waits for answers; 0: as long as the slowest of the cohort was expected to take"""
    faults: FaultSettings = FaultSettings()

    @model_validator(mode="after")
    def _in_order(self) -> "WorldSettings":
        if self.links == "measured" and self.stress != "none":
            raise ValueError("stress must be none with measured links, which are as they are")
        pairs = ("bandwidth_{}_mbps", "downlink_{}_mbps", "step_seconds_{}")
        for low, high in ((name.format("min"), name.format("max")) for name in pairs):
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} must be at most {high}, which is {getattr(self, high)}")
        return self


class ScoreSettings(Group):
    loss_weight: NotNegative = 1.0
    """weight of V′, the normalised loss (eq. 1); 0 takes a part out of the score"""
    diversity_weight: NotNegative = 0.3
    """λ_D, weight of the update's distance from the consensus"""
    fairness_weight: NotNegative = 0.2
    """λ_F, weight of having been selected seldom"""
    staleness_weight: NotNegative = 0.2
    """λ_St, weight of having been selected long ago"""
    staleness_gamma: Positive = 0.5
    """γ_St of eq. 5; min-max cancels it"""
    mode: Literal["all", "candidates", "stale"] = "all"
    """whose loss counts: everybody's, asked each round (the paper); that of some at random; that last reported"""
    candidates: Count = 20
    """how many are asked, and may be selected, in mode candidates"""
    candidates_by_size: bool = False
    """draw them by the examples they have instead of evenly"""
    batches: Count = 8
    """mini-batches the loss is read on"""
    augmented: bool = False
    """read the loss through the shuffled, augmented training data, as the authors' runs did"""
    constant: Fraction = 0.5
    """value of a min-max without spread (the authors': 1)"""
    fairness_start: Annotated[float, Field(ge=-1, le=1)] = 0.0
    """F′ before anyone was selected (the authors': 1)"""
    raw_staleness: bool = False
    """leave a constant St′ unscaled, as the authors' logs do"""
    consensus_keep: BelowOne = 0.9
    """what the running average of the aggregates keeps each round"""
    diversity_input: Literal["exact", "sketch"] = "exact"
    """compare uploads as they are, or by sketches, which take kilobytes a client instead of megabytes"""
    sketch_cells: Annotated[int, Field(ge=16)] = 4096
    """cells of a sketch; a cosine is off by about one over their root"""


class SelectSettings(Group):
    temperature: Positive = 1.0
    """τ₀ of the softmax (eq. 6)"""
    decay: BelowOne = 0.5
    """share of τ₀ lost by round T"""


class AllocateSettings(Group):
    rule: Literal["adaptive", "uniform", "waterfill"] = "adaptive"
    """eq. 8, its ablation, or the score's shares of exactly M·θ_t under the ceilings"""
    ceiling: Literal["paper", "strict", "none"] = "paper"
    """bandwidth ceiling; strict leaves time for computing and counts position bits; none is the authors' ablation"""
    warmup: Literal["full", "allocated", "ramp"] = "full"
    """warm-up rounds send everything (the text), go through rule and ceiling (as run), or ramp down to average (DGC)"""
    warmup_rounds: CountOrNone = 1
    """rounds with θ_t = 1 at the start"""
    average: Density = 0.2
    """θ_avg of eq. 7"""
    amplitude: Fraction = 0.4
    """α_cos of eq. 7"""
    floor: Density = 0.08
    """θ_floor of eq. 7"""
    minimum: Density = 0.005
    """θ_min of eq. 8"""
    index: Literal["after-warmup", "equation"] = "after-warmup"
    """where the cosine starts: the first round after the warm-up, or the equation's (t − 1)/(T − 1)"""
    exact: bool = False
    """rescale the cosine so that the mean over all rounds, warm-up included, is θ_avg"""


class TrainSettings(Group):
    steps: Count = 50
    """H, local steps"""
    steps_rule: Literal["equal", "device"] = "equal"
    """H for everybody, or as many as a device does while the cohort's median device does H"""
    batch: Count = 32
    """examples a step"""
    momentum: BelowOne = 0.9
    """of the local SGD, fresh each round"""
    proximal: NotNegative = 0.1
    """μ of FedProx"""
    clip: NotNegative = 2.0
    """norm bound of task plus proximal gradient; 0 does not clip"""
    rate: Positive = 0.05
    """η₀ of eq. 12"""
    rate_decay: Fraction = 0.5
    """share of η₀ lost by round T"""
    rate_rule: Literal["shared", "score"] = "shared"
    """one rate for all, or η(1 + S) up to rate_cap"""
    rate_cap: Positive = 0.15
    """highest score-scaled rate"""


UNBIASED = ("wangni", "qsgd", "terngrad", "drive")
SELF_CODED = ("qsgd", "terngrad", "sign", "stc", "drive")


class CompressSettings(Group):
    kind: Literal["topk", "randomk", "wangni", "qsgd", "terngrad", "sign", "stc", "threshold", "drive"] = "topk"
    """what of an update is sent: the paper's top-κ, or another published rule"""
    memory: Literal["error", "none", "ef21", "momentum"] = "error"
    """keep what was not sent (eq. 9); let it go; send changes to what was last said (EF21); DGC's momentum pair"""
    memory_momentum: BelowOne = 0.9
    """m of the momentum pair; 0 is a plain error memory without decay"""
    randomk_scaled: bool = False
    """multiply what random-κ keeps by N/κ, which makes it unbiased"""
    qsgd_levels: Annotated[int, Field(ge=1, le=127)] = 4
    """s, levels of QSGD on either side of zero"""
    qsgd_bucket: Count = 512
    """coordinates that share a norm in QSGD"""
    terngrad_clip: NotNegative = 2.5
    """standard deviations a layer is clipped to before TernGrad; 0 does not clip"""
    sign_scale: Literal["mean", "step"] = "mean"
    """send a layer's mean magnitude times the sign (EF-sign), or a fixed step (signSGD)"""
    sign_step: Positive = 1e-3
    """the fixed step of sign_scale = step"""
    drive_exponent: Annotated[int, Field(ge=0, le=16)] = 12
    """DRIVE rotates blocks of 2 to the power of this"""
    threshold_sample: Density = 0.01
    """share of the coordinates that the threshold is estimated from"""
    rounding: Literal["ceil", "floor"] = "ceil"
    """κ = ⌈θN⌉ (the text) or ⌊θN⌋ (the authors' runs)"""
    values: Literal["float32", "float16", "bfloat16", "uniform2", "uniform3", "uniform4", "uniform8"] = "float32"
    """what a kept value is sent as; what rounding loses stays in the error memory"""
    values_bucket: CountOrNone = 0
    """values that share a scale, for the uniform kinds; 0: those of a layer do"""
    values_rounding: Literal["random", "nearest"] = "random"
    """of the uniform kinds: random is without bias, nearest has the smaller error"""
    curvature_layers: CountOrNone = 3
    """Q, layers ranked by curvature (eq. 10); 0 is plain magnitude top-κ"""
    curvature_exploration: Fraction = 0.2
    """λ, the uniform share of the layer sampling"""
    curvature_probes: Count = 1
    """Hutchinson probes averaged (eq. 11)"""
    curvature_floor: Positive = 1e-6
    """least |Ĥ|"""
    curvature_ranking: Literal["global", "within-layer"] = "global"
    """compete over the whole model, or only within a layer for the quota that magnitude gives it"""
    curvature_scope: Literal["model", "layers"] = "model"
    """probe with signs on all coordinates, or only on the sampled layers"""
    curvature_damping: Literal["floor", "median"] = "floor"
    """median: add the layer's median |Ĥ|"""
    decay: Literal["adaptive", "static"] = "adaptive"
    """β(t) of the error memory (eq. 9), or a constant"""
    decay_min: Fraction = 0.85
    """β_min"""
    decay_max: Fraction = 0.97
    """β_max"""
    decay_static: Fraction = 0.9
    """β where it is static"""
    keep_unweighted: bool = False
    """a client whose weight is 0 keeps its whole update for later instead of losing what it sent"""

    @model_validator(mode="after")
    def _pairs_make_sense(self) -> "CompressSettings":
        if self.decay_min > self.decay_max:
            raise ValueError(f"decay_min must be at most decay_max, which is {self.decay_max}")
        if self.kind in SELF_CODED and self.values != "float32":
            raise ValueError(f"values must be float32 with kind {self.kind}, which has few-bit values of its own")
        if self.memory == "none":
            return self
        if self.memory == "momentum" and self.kind == "sign":
            raise ValueError("memory must not be momentum with kind sign: all is sent each round, none builds up")
        why = "its error does not shrink with what is sent, so that a memory of it would grow without end"
        if self.kind in UNBIASED or (self.kind == "randomk" and self.randomk_scaled):
            raise ValueError(f"memory must be none with {self.kind}, which is unbiased and needs none: {why}")
        if self.kind == "sign" and self.sign_scale == "step":
            raise ValueError(f"memory must be none with signs of a fixed step: {why}")
        return self


class AggregateSettings(Group):
    weights: Literal["score", "uniform", "inverse", "everybody", "data", "share"] = "score"
    """eq. 13; its ablation; inverse to a client's chance of selection; 1/K each (for ef21); examples; as selected"""
    weight_floor: NotNegative = 0.0
    """added to every score, as a share of the highest one, before weighing"""
    momentum: BelowOne = 0.5
    """β_s of the server (eq. 14)"""
    lookahead: bool = False
    """clients start from where the server's momentum is about to carry the model (FedACG)"""
    rate: Positive = 1.0
    """what the server's step is multiplied by"""
    norm_bound: NotNegative = 100.0
    """an update longer than this many times the cohort's median is refused; 0 refuses none"""
    calibration_batches: CountOrNone = 20
    """batches in all for batch-norm statistics after each aggregation"""
    calibration_clients: Count = 3
    """over how many clients, the first ones drawn"""
    calibration_split: Literal["evenly", "in-turn"] = "evenly"
    """evenly, or each client's whole data in turn (the authors' runs)"""


class MethodSettings(Group):
    name: str = "heteroselect"
    """a name that `heteroselect methods` lists"""
    base: str = ""
    """of a method of one's own: the one that its settings are of; a run notes it by itself"""
    source: str = ""
    """of a method of one's own from a file: the file's SHA-256, its first half; a run notes it by itself"""
    score: ScoreSettings = ScoreSettings()
    select: SelectSettings = SelectSettings()
    allocate: AllocateSettings = AllocateSettings()
    train: TrainSettings = TrainSettings()
    compress: CompressSettings = CompressSettings()
    aggregate: AggregateSettings = AggregateSettings()
    options: dict[str, bool | int | float | str] = {}
    """of the part that makes a method what it is, as in method.options.penalty=1; see `heteroselect methods NAME`"""

    @model_validator(mode="after")
    def _sums_fit(self) -> "MethodSettings":
        everybody = self.aggregate.weights == "everybody"
        if (self.compress.memory == "ef21") != everybody:
            raise ValueError(
                "aggregate.weights must be everybody with compress.memory ef21, whose server sums over all clients"
                if not everybody
                else "aggregate.weights may be everybody with compress.memory ef21 only"
            )
        if everybody and self.aggregate.momentum:
            raise ValueError("aggregate.momentum must be 0 with compress.memory ef21, which has a running sum already")
        return self


class SimulateSettings(Group):
    store: Literal["memory", "disk"] = "memory"
    """where clients' memories and last uploads lie; disk keeps only those of the present round in memory"""
    checkpoint_seconds: NotNegative = 60.0
    """wall time that may be lost to a crash: checkpoints are written this often; 0: after every round"""
    checkpoint_rounds: CountOrNone = 0
    """write a checkpoint after so many rounds instead; 0: by time"""


class PaperRow(Group):
    """The figures the paper gives for this experiment; a target the paper never reached is left out."""

    source: str = ""
    peak_accuracy: Fraction | None = None
    final_accuracy: Fraction | None = None
    rounds_to_target: int | None = None
    seconds_to_target: float | None = None
    megabytes_to_target: float | None = None
    parameters: int | None = None


class Config(Group):
    clients: Count = 100
    """K"""
    selected: Count = 10
    """M, clients a round"""
    rounds: Count = 100
    """T, the horizon of all schedules"""
    seed: CountOrNone = 42
    """of every random number"""
    target: Fraction = 0.9
    """accuracy that the figures to target refer to"""
    stop_after: CountOrNone = 0
    """end after this round without changing the schedules; 0: after `rounds`"""
    stop_at_target: CountOrNone = 0
    """end once the target was held for so many rounds; 0: never"""
    evaluate_every: Count = 1
    """rounds from one evaluation to the next; the last round is always evaluated"""
    data: DataSettings = DataSettings()
    model: ModelSettings = ModelSettings()
    world: WorldSettings = WorldSettings()
    method: MethodSettings = MethodSettings()
    simulate: SimulateSettings = SimulateSettings()
    paper: tuple[PaperRow, ...] = ()
    """the paper's own figures, shown beside the result"""

    @model_validator(mode="after")
    def _cohort_fits(self) -> "Config":
        if self.selected > self.clients:
            raise ValueError(f"selected must be at most clients, which is {self.clients}, not {self.selected}")
        score = self.method.score
        if score.mode == "candidates" and score.loss_weight and score.candidates < self.selected:
            raise ValueError(f"method.score.candidates must be at least selected, which is {self.selected}")
        return self

    @property
    def last_round(self) -> int:
        """Where a run ends, whatever it reaches before."""
        return min(self.rounds, self.stop_after or self.rounds)


@dataclass(frozen=True)
class Setting:
    """One line of the list of settings."""

    key: str
    default: Any
    allowed: str
    meaning: str


def describe(group: type[BaseModel] = Config, prefix: str = "") -> Iterator[Setting]:
    """All settings, group by group."""
    for name, field in group.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from describe(inner, f"{prefix}{name}.")
        elif name != "paper":
            yield Setting(prefix + name, field.default, allowed(field), field.description or "")


def find(key: str) -> FieldInfo | None:
    """The field behind a dotted key."""
    group: Any = Config
    field: FieldInfo | None = None
    for step in key.split("."):
        if not (isinstance(group, type) and issubclass(group, BaseModel)) or step not in group.model_fields:
            return None
        field = group.model_fields[step]
        group = field.annotation
    return field


def allowed(field: FieldInfo) -> str:
    """What a setting may be, in words.

    >>> allowed(AllocateSettings.model_fields["average"])
    'a number > 0 and ≤ 1'
    """
    kind = field.annotation
    if get_origin(kind) is Literal:
        *first, last = get_args(kind)
        return f"{', '.join(first)} or {last}"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    text = next((word for known, word in words.items() if kind is known), "a group of settings")
    bounds = []
    for rule in field.metadata:
        for sign, bound in ((">", Gt), ("≥", Ge), ("<", Lt), ("≤", Le)):
            if isinstance(rule, bound):
                bounds.append(f"{sign} {getattr(rule, bound.__name__.lower())}")
    return f"{text} {' and '.join(bounds)}".strip()
