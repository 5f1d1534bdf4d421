import { deviceNames } from '../../runtime/device/current.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { didYouMean } from '../../runtime/options/expect-options.ts';
import { withDefaults } from '../../runtime/options/with-defaults.ts';

/**
 * The memory optimizations of a program. Each can be disabled independently, to measure what it saves. Values and
 * gradients are the same with any combination of them.
 */
export interface MemorySwitches {
  /** Values are freed after their last use. Off: when the program ends. */
  readonly freeAtLastUse: boolean;
  /** A result takes over the memory of an operand that dies there, where the kernel allows. Needs freeAtLastUse. */
  readonly reuse: boolean;
  /** Ops are reordered to lower the peak. Off: they run in program order. Needs freeAtLastUse. */
  readonly order: boolean;
  /**
   * Redundant work is eliminated where that doesn't raise the peak: constant folding, common subexpressions, and ops
   * without an effect.
   */
  readonly simplify: boolean;
  /** Minimizes the bytes that forward saves for backward. Off: it saves what the ops' records name. */
  readonly minimizeSaved: boolean;
  /**
   * If backward reads a value only to compare it, as the gradient of relu does, a mask of one byte per element is kept
   * instead; `bits`: of one bit, which takes two kernels more. Off: the value is.
   */
  readonly savedMasks: boolean | 'bits';
  /**
   * For the gradient of max-pooling forward writes the places of the largest elements within their windows, as uint8.
   * Off: within the plane, as int32.
   */
  readonly savedPlaces: boolean;
  /**
   * Backward recomputes the scores and weights of attention a few heads at a time, where the program then needs fewer
   * bytes and, unless bytes are preferred, no more time. Off: forward saves them. Needs order.
   */
  readonly recomputeScores: boolean;
  /** In a whole training step, chains of ops run slice by slice where that lowers the peak. Needs order. */
  readonly slices: boolean;
  /**
   * Values that live and die within a run are placed in one block, at planned offsets; on a GPU where bytes are
   * preferred or limited. Needs freeAtLastUse.
   */
  readonly arena: boolean;
  /** Inputs that the caller doesn't read after the call are donated to the program. Off: they live until the call ends. */
  readonly donate: boolean;
  /** Only values that backward reads live on between forward and backward. Off: all values do. */
  readonly skipSet: boolean;
  /** Inputs that backward doesn't read are not kept for it. Off: all inputs are. */
  readonly unusedInputs: boolean;
  /** The contiguous copy of a strided input is freed after its last use. Off: after backward. */
  readonly inputCopies: boolean;
  /**
   * If only views of a larger value are saved, and nothing else refers to it, copies of the views are saved instead.
   * Off: the whole value is.
   */
  readonly compactViews: boolean;
  /** Strided inputs are read in place. Off: they are copied first. */
  readonly stridedInputs: boolean;
  /** Outputs that backward doesn't read leave the scope after forward. Off: after backward. */
  readonly unusedOutputs: boolean;
  /** If backward reads only the shape of a value, its data is not kept. Off: it is. */
  readonly noNeedBuffer: boolean;
  /** The grad node keeps only inputs whose data backward reads. Off: it keeps all inputs until backward has run. */
  readonly gradNodeInputs: boolean;
}

export interface MemoryOptions extends MemorySwitches {
  /**
   * The preference between memory and time. `time`: slices are used only where they don't slow the program down, and
   * the first runs use a plan that is quick to make. `bytes`: the smallest peak, from the first run on.
   */
  readonly prefer: 'time' | 'bytes';
  /**
   * The number of bytes that forward and backward of a step may use beyond its inputs. If the plan needs more,
   * backward recomputes part of forward; results are bitwise identical. With graph breaks the subgraphs share the
   * budget, from the second step on. Null: nothing is, but what `recomputeScores` names.
   */
  readonly budget: number | null;
  /**
   * The dtype in which forward saves float32 values that it has computed for backward; `int8` has a float32 scale per
   * 128 elements. Gradients are then those of rounded values: the only memory option that changes bits, so that check
   * mode rejects it. Null: their own.
   */
  readonly savedDtype: SavedDType | null;
  /**
   * The store to which values leave the device that forward saves for backward: `host`, for those of a GPU, or `file`.
   * `await init(…)` makes it ready. Null: none leaves.
   */
  readonly offload: 'host' | 'file' | null;
}

const savedDTypes = ['float16', 'bfloat16', 'int8'] as const;

export type SavedDType = (typeof savedDTypes)[number];

const allOn: MemoryOptions = {
  freeAtLastUse: true,
  reuse: true,
  order: true,
  slices: true,
  arena: true,
  donate: true,
  simplify: true,
  minimizeSaved: true,
  savedMasks: true,
  savedPlaces: true,
  recomputeScores: true,
  skipSet: true,
  unusedInputs: true,
  inputCopies: true,
  compactViews: true,
  stridedInputs: true,
  unusedOutputs: true,
  noNeedBuffer: true,
  gradNodeInputs: true,
  prefer: 'time',
  budget: null,
  savedDtype: null,
  offload: null,
};

/** Every value is freed at its last use, in program order; no reuse, no arena, strided inputs are copied. */
const cleaned = {
  ...allOn,
  reuse: false,
  order: false,
  slices: false,
  arena: false,
  donate: false,
  simplify: false,
  minimizeSaved: false,
  savedMasks: false,
  savedPlaces: false,
  recomputeScores: false,
  compactViews: false,
  stridedInputs: false,
};

/** Half of the first change: inputs that backward doesn't read leave the scope, outputs stay in it. */
const inputsCleaned = { ...cleaned, unusedOutputs: false };

/**
 * `planned` has everything. The others are states of the system that this one re-creates, around the two changes
 * that mended its memory: `beforeUnusedValues`, `inputsCleaned` and `cleaned` before, half-way and after unused inputs
 * and outputs left the scope; `beforeGradNodeInputs` and `cleaned` before and after the grad node let go of inputs.
 */
export const memoryPresets = {
  planned: allOn,
  cleaned,
  inputsCleaned,
  beforeUnusedValues: { ...inputsCleaned, unusedInputs: false, inputCopies: false },
  beforeGradNodeInputs: { ...cleaned, gradNodeInputs: false },
} as const satisfies Record<string, MemoryOptions>;

export type MemoryPreset = keyof typeof memoryPresets;
/** A preset's name, or switches and a budget; by default all switches are on and time is preferred. */
export type MemoryChoice = MemoryPreset | Partial<MemoryOptions>;

/** Names of the single clean-ups. */
export const memorySwitches = Object.keys(allOn).filter(
  (name): name is keyof MemorySwitches =>
    name !== 'budget' && name !== 'prefer' && name !== 'savedDtype' && name !== 'offload',
);

/** Throws ArgumentError for a name that is not a preset or no switch, an unknown preference, a budget that is not a size. */
export function memoryOptions(choice: MemoryChoice = 'planned'): MemoryOptions {
  if (typeof choice === 'string') {
    if (Object.hasOwn(memoryPresets, choice)) return memoryPresets[choice];
    throw unknownChoice(choice, 'preset', Object.keys(memoryPresets));
  }
  for (const name of Object.keys(choice)) {
    if (!Object.hasOwn(allOn, name)) throw unknownChoice(name, 'switch', Object.keys(allOn));
  }
  const { budget = null, prefer = 'time', savedDtype = null, offload = null } = choice;
  if (prefer !== 'time' && prefer !== 'bytes') throw noPreference(prefer);
  if (budget !== null && !(budget >= 0)) throw noBudget(budget);
  if (savedDtype !== null && !savedDTypes.includes(savedDtype)) throw noSavedDtype(savedDtype);
  const isStore = offload === 'host' || offload === 'file';
  if (offload !== null && !(isStore && deviceNames().includes(offload))) throw noStore(offload);
  return withDefaults(allOn, choice);
}

function unknownChoice(name: string, kind: string, known: readonly string[]): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: no such memory option',
    given: `the ${kind} '${name}'`,
    expected: known.join(', '),
    remedy: didYouMean(name, known) ?? 'use a preset by name, or an object with switches',
  });
}

function noPreference(prefer: never): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: memory.prefer is neither time nor bytes',
    given: String(prefer),
    expected: "'time' or 'bytes'",
    remedy: "memory: { prefer: 'bytes' } asks for the smallest peak",
  });
}

function noBudget(budget: number): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: the memory budget is not a number of bytes',
    given: String(budget),
    expected: 'a number from 0 on, or null for none',
    remedy: 'memory: { budget: 64 * 2 ** 20 } is one of 64 MiB',
  });
}

function noSavedDtype(given: unknown): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: memory.savedDtype is not one of the smaller dtypes',
    given: String(given),
    expected: `${savedDTypes.map((name) => `'${name}'`).join(', ')}, or null`,
    remedy: "memory: { savedDtype: 'bfloat16' } halves the saved values, and rounds gradients",
  });
}

function noStore(given: unknown): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: memory.offload is not a store that is ready',
    given: String(given),
    expected: "'host' or 'file' after await init('host') or await init('file'), or null",
    remedy: 'call await init(…) first',
  });
}

/** The options of programs that any device may run: a GPU has no bytes for places. */
export const portableMemory = (memory: MemoryOptions): MemoryOptions => ({
  ...memory,
  savedPlaces: false,
  recomputeScores: false,
  offload: null,
});
