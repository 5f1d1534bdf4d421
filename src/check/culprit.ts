import { Subgraph } from '../../runtime/run-program/run-program.ts';
import { type PassName, passNames } from '../5-optimize/passes.ts';
import type { CompileOptions } from '../compile/compilation.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import { compare, type Difference, disposeOutcome, type Outcome } from './outcome.ts';
import type { Reading } from './reading.ts';
import type { BackwardCall, Scenario } from './scenario.ts';
import type { CompiledFrom } from './sources.ts';

/** A pass of the optimizer, or a switch of the memory plan. */
export interface Suspect {
  readonly name: string;
  /** The option that switches it off: `passes: { slices: false }`. */
  readonly option: string;
}

/** Memory switches that may be on, in an order in which each needs only earlier ones. */
const switches = [
  'freeAtLastUse',
  'skipSet',
  'unusedInputs',
  'inputCopies',
  'unusedOutputs',
  'noNeedBuffer',
  'gradNodeInputs',
  'reuse',
  'order',
  'arena',
] as const satisfies readonly (keyof MemoryOptions)[];

/** Passes that have no effect while the memory switches before them are off. */
const needOrder: readonly PassName[] = [
  'recomputeScores',
  'tileAttention',
  'fusePointwise',
  'fuseRows',
  'fuseUpdates',
  'slices',
];

/** Everything off: ops in program order, every value kept until the end, no pass. */
const allOff: MemoryOptions = {
  freeAtLastUse: false,
  reuse: false,
  order: false,
  minimizeSaved: false,
  savedMasks: false,
  savedPlaces: false,
  recomputeScores: false,
  simplify: false,
  slices: false,
  arena: false,
  donate: false,
  skipSet: false,
  unusedInputs: false,
  inputCopies: false,
  compactViews: false,
  stridedInputs: true,
  unusedOutputs: false,
  noNeedBuffer: false,
  gradNodeInputs: false,
  prefer: 'time',
  budget: null,
  savedDtype: null,
  offload: null,
};

/** Compiles the traced program as it is: the reference of check mode. */
export const referenceOptions: CompileOptions = {
  memory: allOff,
  without: new Set(passNames),
  verify: false,
  tier: 'final',
};

/** Returns the passes and switches of a compilation, in the order in which they are enabled to find the culprit. */
function suspectsOf({ options, donated }: CompiledFrom): Suspect[] {
  const { memory, without } = options;
  const pass = (name: string): Suspect => ({
    name: `the pass '${name}'`,
    option: `passes: { ${name}: false }`,
  });
  const memorySwitch = (name: string): Suspect => ({
    name: `the memory switch '${name}'`,
    option: `memory: { ${name}: false }`,
  });
  const on = passNames.filter((name) => !without.has(name));
  return [
    ...on.filter((name) => !needOrder.includes(name)).map(pass),
    ...switches.filter((name) => memory[name]).map(memorySwitch),
    ...(donated.length > 0 ? [memorySwitch('donate')] : []),
    ...needOrder
      .filter((name) => on.includes(name) && (name !== 'slices' || memory.slices))
      .map(pass),
    ...(memory.budget === null ? [] : [{ name: 'the budget', option: 'memory: { budget: null }' }]),
  ];
}

/** Options with the first `count` suspects enabled. */
export function optionsWith(source: CompiledFrom, count: number): CompileOptions {
  const { options } = source;
  const on = new Set(
    suspectsOf(source)
      .slice(0, count)
      .map(({ option }) => option),
  );
  const isOn = (name: string) => on.has(`memory: { ${name}: false }`);
  const memory: MemoryOptions = {
    ...allOff,
    ...Object.fromEntries(switches.map((name) => [name, isOn(name)])),
    minimizeSaved: options.memory.minimizeSaved,
    savedMasks: options.memory.savedMasks,
    savedPlaces: options.memory.savedPlaces,
    recomputeScores: options.memory.recomputeScores,
    simplify: options.memory.simplify,
    compactViews: options.memory.compactViews,
    stridedInputs: options.memory.stridedInputs,
    slices: options.memory.slices,
    donate: isOn('donate'),
    prefer: options.memory.prefer,
    savedDtype: null,
    offload: null,
    budget: on.has('memory: { budget: null }') ? options.memory.budget : null,
  };
  const without = new Set(passNames.filter((name) => !on.has(`passes: { ${name}: false }`)));
  return { ...options, memory, without };
}

/** Repeats the scenario under some plan, with a backward call if one is given. */
export function repeat(
  subgraph: Subgraph,
  scenario: Scenario,
  call: BackwardCall | null,
  takesOver = false,
): Outcome {
  const { outcome, node } = scenario.run(subgraph, takesOver);
  if (!call || !node) {
    node?.release();
    return outcome;
  }
  disposeOutcome(outcome);
  try {
    return call.apply(node);
  } finally {
    node.release();
  }
}

/** The program under the plan with the first `count` suspects enabled. */
export function variantOf(source: CompiledFrom, count: number): Subgraph {
  const { program, wanted, donated, compile } = source;
  const options = optionsWith(source, count);
  const takenOver = options.memory.donate ? donated : [];
  return new Subgraph(compile(program, wanted, options, takenOver).planned);
}

/** A suspect that makes a difference when it is enabled after those before it, and its index among them. */
export interface Found {
  readonly suspect: Suspect;
  readonly index: number;
}

/**
 * Bisects the suspects: with none of them the program is the reference, with all of them it differs. Null if the
 * run doesn't differ when it is repeated with all of them.
 */
export function* findCulprit(
  source: CompiledFrom,
  scenario: Scenario,
  call: BackwardCall | null,
  expected: Outcome,
): Reading<Found | null> {
  const suspects = suspectsOf(source);
  let [same, different] = [0, suspects.length];
  if (!(yield* differs(source, different, scenario, call, expected))) return null;
  while (different - same > 1) {
    const middle = (same + different) >> 1;
    if (yield* differs(source, middle, scenario, call, expected)) different = middle;
    else same = middle;
  }
  return { suspect: suspects[different - 1]!, index: different - 1 };
}

function* differs(
  source: CompiledFrom,
  count: number,
  scenario: Scenario,
  call: BackwardCall | null,
  expected: Outcome,
): Reading<Difference | null> {
  const takesOver = optionsWith(source, count).memory.donate;
  const outcome = repeat(variantOf(source, count), scenario, call, takesOver);
  const difference = yield* compare(outcome, expected);
  disposeOutcome(outcome);
  return difference;
}
