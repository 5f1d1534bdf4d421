import { deviceNames } from '../../runtime/device/current.ts';
import { ArgumentError } from '../../runtime/errors/errors.ts';
import { didYouMean, expectArguments } from '../../runtime/options/expect-options.ts';
import { anObject, flag, that } from '../../runtime/options/option-kinds.ts';
import { withDefaults } from '../../runtime/options/with-defaults.ts';

/**
 * The memory optimizations of a program. Each can be disabled independently, to measure what it saves. No
 * combination changes a value or a gradient.
 */
export interface MemorySwitches {
  /** Frees each value after its last use. Off: when the program ends. */
  readonly freeAtLastUse: boolean;
  /**
   * Lets a result reuse the memory of an operand whose last use is that op, if the kernel allows it. Needs
   * freeAtLastUse.
   */
  readonly reuse: boolean;
  /** Reorders ops to lower the peak. Off: they run in program order. Needs freeAtLastUse. */
  readonly order: boolean;
  /**
   * Eliminates redundant work where that doesn't raise the peak: constant folding, common subexpressions, and ops
   * without an effect.
   */
  readonly simplify: boolean;
  /** Minimizes the bytes that forward saves for backward. Off: forward saves the values named in the ops' records. */
  readonly minimizeSaved: boolean;
  /**
   * Where backward reads a value only to compare it, as the gradient of relu does, saves a mask of one byte per element
   * instead, or, with `bits`, one bit, at the cost of two more kernels. Off: saves the value.
   */
  readonly savedMasks: boolean | 'bits';
  /**
   * For the gradient of max-pooling, forward writes the position of each maximum within its window, as uint8. Off:
   * its position within the plane, as int32.
   */
  readonly savedPlaces: boolean;
  /**
   * Backward recomputes the scores and weights of attention a few heads at a time, if that needs fewer bytes and,
   * unless bytes are preferred, no more time. Off: forward saves them. Needs order.
   */
  readonly recomputeScores: boolean;
  /** In a whole training step, runs chains of ops slice by slice where that lowers the peak. Needs order. */
  readonly slices: boolean;
  /**
   * Places values that are allocated and freed within a run in one block, at planned offsets; on a GPU only if bytes
   * are preferred or limited. Needs freeAtLastUse.
   */
  readonly arena: boolean;
  /**
   * Donates inputs that the caller doesn't read after the call to the program. Off: they are freed when the call ends.
   */
  readonly donate: boolean;
  /** Keeps only the values that backward reads between forward and backward. Off: keeps all values. */
  readonly skipSet: boolean;
  /** Drops inputs that backward doesn't read. Off: all inputs are kept for it. */
  readonly unusedInputs: boolean;
  /** Frees the contiguous copy of a strided input after its last use. Off: after backward. */
  readonly inputCopies: boolean;
  /**
   * If only views of a larger value are saved, and nothing else refers to it, saves copies of the views instead.
   * Off: saves the whole value.
   */
  readonly compactViews: boolean;
  /** Reads strided inputs in place. Off: copies them first. */
  readonly stridedInputs: boolean;
  /** Drops outputs that backward doesn't read from the scope after forward. Off: after backward. */
  readonly unusedOutputs: boolean;
  /** Frees the data of a value of which backward reads only the shape. Off: keeps it. */
  readonly noNeedBuffer: boolean;
  /** Keeps only inputs whose data backward reads in the grad node. Off: it keeps all inputs until backward has run. */
  readonly gradNodeInputs: boolean;
}

export interface MemoryOptions extends MemorySwitches {
  /**
   * Whether to prefer time or bytes. `time`: slices are used only where they don't slow the program down, and the
   * first runs use a plan that is quick to make. `bytes`: the smallest peak, from the first run on.
   */
  readonly prefer: 'time' | 'bytes';
  /**
   * The number of bytes that forward and backward of a step may use beyond its inputs. If the plan needs more,
   * backward recomputes part of forward; results are bitwise identical. With graph breaks, the step's subgraphs
   * share the budget from the second step on. Null: only what `recomputeScores` covers is recomputed.
   */
  readonly budget: number | null;
  /**
   * The dtype in which forward saves the float32 values it computed for backward; `int8` has a float32 scale per
   * 128 elements. Gradients are then computed from rounded values: this is the only memory option that changes
   * bits, so check mode rejects it. Null: values keep their dtype.
   */
  readonly savedDtype: SavedDType | null;
  /**
   * Where to offload the values that forward saves for backward: `host`, for values of a GPU, or `file`. `await
   * init(…)` prepares it. Null: they remain on their device.
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

/** Frees every value at its last use, in program order; no reuse, no arena, and strided inputs are copied. */
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

/** An intermediate state: inputs that backward doesn't read leave the scope, but outputs remain. */
const inputsCleaned = { ...cleaned, unusedOutputs: false };

/**
 * `planned` has all optimizations. The others re-create states of the original system around the two changes that fixed
 * its memory use: `beforeUnusedValues`, `inputsCleaned` and `cleaned` are the states before, half-way through and after
 * the change that drops unused inputs and outputs from the scope; `beforeGradNodeInputs` and `cleaned` those before and
 * after the grad node drops its inputs.
 */
export const memoryPresets = {
  planned: allOn,
  cleaned,
  inputsCleaned,
  beforeUnusedValues: { ...inputsCleaned, unusedInputs: false, inputCopies: false },
  beforeGradNodeInputs: { ...cleaned, gradNodeInputs: false },
} as const satisfies Record<string, MemoryOptions>;

export type MemoryPreset = keyof typeof memoryPresets;
/** A preset's name, or switches and a budget. By default all switches are on, and time is preferred. */
export type MemoryChoice = MemoryPreset | Partial<MemoryOptions>;

const masksKind = that("true, false or 'bits'", (value) => value === 'bits' || flag.accepts(value));

/** Names of the individual clean-up switches. */
export const memorySwitches = Object.keys(allOn).filter(
  (name): name is keyof MemorySwitches =>
    name !== 'budget' && name !== 'prefer' && name !== 'savedDtype' && name !== 'offload',
);

/**
 * Fills in defaults. Throws ArgumentError for an unknown preset, switch or preference, and for a budget that is not
 * a size.
 */
export function memoryOptions(choice: MemoryChoice = 'planned'): MemoryOptions {
  if (typeof choice === 'string') {
    if (Object.hasOwn(memoryPresets, choice)) return memoryPresets[choice];
    throw unknownChoice(choice, 'preset', Object.keys(memoryPresets));
  }
  expectArguments('toStatic', { memory: choice }, { memory: anObject });
  for (const [name, value] of Object.entries(choice)) {
    if (!Object.hasOwn(allOn, name)) throw unknownChoice(name, 'switch', Object.keys(allOn));
    const kind = name === 'savedMasks' ? masksKind : flag;
    const isSwitch = typeof allOn[name as keyof MemoryOptions] === 'boolean';
    if (isSwitch && value !== undefined)
      expectArguments('toStatic: memory', { [name]: value }, { [name]: kind });
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

function noSavedDtype(value: unknown): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: memory.savedDtype is not one of the smaller dtypes',
    given: String(value),
    expected: `${savedDTypes.map((name) => `'${name}'`).join(', ')}, or null`,
    remedy: "half precisions halve the saved values, 'int8' quarters them; gradients are rounded",
  });
}

function noStore(value: unknown): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: memory.offload is not a store that is ready',
    given: String(value),
    expected: "'host' or 'file' after await init('host') or await init('file'), or null",
    remedy: 'call await init(…) first',
  });
}

/** Whether bytes are preferred or limited. */
export function mayBeSlower({ prefer, budget }: Pick<MemoryOptions, 'prefer' | 'budget'>): boolean {
  return prefer === 'bytes' || budget !== null;
}

/** The options of a program that any device may run: GPUs have no uint8 positions. */
export const portableMemory = (memory: MemoryOptions): MemoryOptions => ({
  ...memory,
  savedPlaces: false,
  recomputeScores: false,
  offload: null,
});
