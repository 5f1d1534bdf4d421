import { ArgumentError } from '../../runtime/errors/errors.ts';

/**
 * The clean-ups of run_program, each to be switched off alone, so that what it saves can be measured.
 * Values and gradients are the same with any of them.
 */
export interface MemorySwitches {
  /** A value leaves the scope after its last use. Off: all leave it when the program ends. */
  readonly freeAtLastUse: boolean;
  /** A result takes over the memory of a dying operand where the kernel allows. Needs freeAtLastUse. */
  readonly reuse: boolean;
  /** Ops run in an order with a low peak. Off: in the order of the source. Needs freeAtLastUse. */
  readonly order: boolean;
  /**
   * Redundant work is removed, where that needs no more bytes: constants are folded, equal values computed once,
   * ops that change nothing left out.
   */
  readonly simplify: boolean;
  /** Of what backward could read, what costs least is kept. Off: what the ops' records name. */
  readonly chooseSaved: boolean;
  /** Of a whole training step, chains of ops run part by part where that needs less. Needs order. */
  readonly slices: boolean;
  /** Values that live and die in one run lie in one block, at planned places. Needs freeAtLastUse. */
  readonly arena: boolean;
  /** An input that nobody reads after the call belongs to the program. Off: it lives until the call ends. */
  readonly donate: boolean;
  /** Between forward and backward only what backward reads stays. Off: every value stays. */
  readonly skipSet: boolean;
  /** Inputs that backward doesn't read are not held for it. Off: all inputs are. */
  readonly unusedInputs: boolean;
  /** A contiguous copy of a strided input dies at its last use. Off: it stays until backward has run. */
  readonly inputCopies: boolean;
  /**
   * Where backward keeps views alone of a larger value that nothing else holds, it keeps copies of them. Off: the
   * whole value stays.
   */
  readonly compactViews: boolean;
  /** Strided inputs are read as they are. Off: copies of them, made first. */
  readonly stridedInputs: boolean;
  /** Outputs that backward doesn't read leave the scope. Off: they stay until backward has run. */
  readonly unusedOutputs: boolean;
  /** Of a value that backward reads only for its shape no data is kept. Off: the data is. */
  readonly noNeedBuffer: boolean;
  /** The grad node holds only inputs whose data backward reads. Off: it holds all inputs until backward has run. */
  readonly gradNodeInputs: boolean;
}

export interface MemoryOptions extends MemorySwitches {
  /**
   * What counts where bytes and time are at odds. `time`: slices are taken only where they make the program no
   * slower, and the first runs have a plan that is soon there. `bytes`: the smallest peak, from the first run on.
   */
  readonly prefer: 'time' | 'bytes';
  /**
   * Most bytes that a step should have alive beside its inputs, forward and backward together. Where the
   * plan needs more, backward computes some of forward again, with the same results to the last bit. With graph
   * breaks the subgraphs share it, from the second step on. Null: nothing is computed twice.
   */
  readonly budget: number | null;
}

const allOn: MemoryOptions = {
  freeAtLastUse: true,
  reuse: true,
  order: true,
  slices: true,
  arena: true,
  donate: true,
  simplify: true,
  chooseSaved: true,
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
};

/** run_program with every clean-up, in the order of the source: no reuse, no arena, copies of strided inputs. */
const cleaned = {
  ...allOn,
  reuse: false,
  order: false,
  slices: false,
  arena: false,
  donate: false,
  simplify: false,
  chooseSaved: false,
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
  (name): name is keyof MemorySwitches => name !== 'budget' && name !== 'prefer',
);

/** Throws ArgumentError for a name that is no preset or no switch, an unknown preference, a budget that is no size. */
export function memoryOptions(choice: MemoryChoice = 'planned'): MemoryOptions {
  if (typeof choice === 'string') {
    if (Object.hasOwn(memoryPresets, choice)) return memoryPresets[choice];
    throw unknownChoice(`'${choice}'`, Object.keys(memoryPresets));
  }
  for (const name of Object.keys(choice)) {
    if (!Object.hasOwn(allOn, name))
      throw unknownChoice(`the switch '${name}'`, Object.keys(allOn));
  }
  const { budget = null, prefer = 'time' } = choice;
  if (prefer !== 'time' && prefer !== 'bytes') throw noPreference(prefer);
  if (budget !== null && !(budget >= 0)) throw noBudget(budget);
  return { ...allOn, ...choice };
}

function unknownChoice(given: string, known: readonly string[]): ArgumentError {
  return new ArgumentError({
    what: 'toStatic: no such memory option',
    given,
    expected: known.join(', '),
    remedy: 'use a preset by name, or an object with switches',
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
    what: 'toStatic: the memory budget is no number of bytes',
    given: String(budget),
    expected: 'a number from 0 on, or null for none',
    remedy: 'memory: { budget: 64 * 2 ** 20 } is one of 64 MiB',
  });
}
