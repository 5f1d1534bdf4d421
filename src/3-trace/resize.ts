import { withGradMode } from '../../runtime/autograd/grad-mode.ts';
import { TostaticError } from '../../runtime/errors/errors.ts';
import { ProgramBuilder } from '../../runtime/program/builder.ts';
import { withRandomSource } from '../../runtime/random/seed.ts';
import { contiguousStrides } from '../../runtime/spec/shape.ts';
import { requireGrad } from '../../runtime/tensor/require-grad.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import type { Guard, GuardedSize } from '../guards/guard.ts';
import { keysInElements, listLayout, tensorsAt } from '../guards/list-layout.ts';
import { hasResultSize, type NumberExpr } from '../guards/number-expr.ts';
import { compileReader, type Reader, type Source } from '../guards/source.ts';
import { sourceKey } from '../guards/source-key.ts';
import type { Resized, TraceResult } from '../traces/trace-result.ts';
import type { Frame } from '../vm/bytecode/frame.ts';
import { CountedStream } from './inputs/counted-stream.ts';
import { distinctElements, distinctInputs } from './inputs/distinct-inputs.ts';
import { elementSource, indexIn, type OuterTensors } from './inputs/outer-tensors.ts';
import { numberFor, ProgramNumbers, type SizeRead, type Sizes, sizeIn } from './inputs/sizes.ts';
import { isSize } from './inputs/symbolic.ts';
import type { TraceInput } from './inputs/trace-input.ts';
import { namesElements } from './names-elements.ts';
import { freedBelow, isDifferentiable } from './state/recorded-graph.ts';
import { play, type TapeCall, TapeMismatch } from './state/tape.ts';
import type { TensorList } from './variables/tensor-list.ts';

/** The parts of a trace that are needed to replay it for other sizes, without user objects. */
interface Recorded {
  readonly result: TraceResult;
  readonly inputs: readonly TraceInput[];
  /** Tensors in arrays of any length. */
  readonly lists: readonly OuterTensors[];
  /** The program's outputs. */
  readonly outputs: readonly Tensor[];
  readonly tape: readonly TapeCall[];
  readonly sizes: Sizes;
  /** Guards of the trace that every resized program repeats. */
  readonly ownGuards: readonly Guard[];
}

/** Returns null if the trace is valid for its own sizes only. */
export function resizedOf(recorded: Recorded): Resized | null {
  const { sizes, inputs, result, ownGuards } = recorded;
  if (sizes.fixed || !sizes.vary) return null;
  // Other sizes may be valid for the op that rejected these.
  if (result.outcome.kind === 'break' && result.outcome.record.reason === 'op-error') return null;
  const lasting = result.guards.filter((guard) => !ownGuards.includes(guard));
  if (namesElements({ ...recorded, guards: lasting, effects: result.effects })) return null;
  const guards = lasting.filter((guard) => !dependsOnSizes(guard));
  return {
    keys: [...sizes.keys.values()],
    guards: guards.map((guard) => anySize(guard, inputs, sizes)),
    at: (frames) => playAt(inFrames(frames), recorded),
    atSizes: (frames, values) => {
      const found = withSizes(frames, values, recorded);
      return found && playAt(found, recorded);
    },
    numbers: () => [...sizes.decided.values()],
  };
}

/** Whether the guard must be computed again for each set of sizes. */
function dependsOnSizes(guard: Guard): boolean {
  return guard.kind === 'number' && hasResultSize(guard.expr);
}

function anySize(guard: Guard, inputs: readonly TraceInput[], { dims }: Sizes): Guard {
  if (guard.kind !== 'tensor') return guard;
  const input = inputs.find(({ source }) => source === guard.source);
  const varying = input && dims.get(input.tensor);
  if (!varying) return guard;
  return {
    ...guard,
    strides: guard.strides && 'any',
    shape: guard.shape.map((size, dim) =>
      varying.has(dim) ? (varying.get(dim)!.size as GuardedSize) : size,
    ),
  };
}

/** The environment that a trace reads when it is replayed for other sizes. */
interface ReplayEnvironment {
  readonly frames: readonly Frame[];
  readonly readerOf: (source: Source) => Reader;
  readonly layoutOf: (input: TraceInput) => Pick<Tensor, 'shape' | 'strides'>;
}

function inFrames(frames: readonly Frame[]): ReplayEnvironment {
  return {
    frames,
    readerOf: compileReader,
    layoutOf: ({ source }) => compileReader(source)(frames) as Tensor,
  };
}

/** Returns null if a key is not a size of a contiguous tensor. */
function withSizes(
  frames: readonly Frame[],
  sampleSizes: readonly number[],
  { sizes, result: { numbers, scalars } }: Recorded,
): ReplayEnvironment | null {
  const keys = [...sizes.keys.values()];
  if (!keys.every(isSize)) return null;
  const known = new Map(keys.map((source, i) => [sourceKey(source), sampleSizes[i]!]));
  // Only data-dependent numbers keep their traced values: nothing here depends on them.
  const values = scalars.nodes.flatMap((node, id) => {
    return node.kind === 'input'
      ? [[sourceKey(numbers[node.index]!), scalars.values[id]!] as const]
      : [];
  });
  const before = new Map(values);
  return {
    frames,
    readerOf: (source) => {
      const key = sourceKey(source);
      const value = known.get(key) ?? before.get(key);
      return value === undefined ? compileReader(source) : () => value;
    },
    layoutOf: ({ tensor }) => {
      const open = sizes.dims.get(tensor);
      const shape = tensor.shape.map((size, dim) => {
        const place = open?.get(dim)?.place;
        return place ? known.get(sourceKey(place))! : size;
      });
      return { shape, strides: tensor.strides };
    },
  };
}

interface CurrentInputs {
  readonly inputs: readonly TraceInput[];
  /** The inputs that are the tensors of each array. */
  readonly members: ReadonlyMap<OuterTensors, readonly TraceInput[]>;
}

/**
 * Returns the inputs of a call: the trace's inputs, followed by all other tensors that the arrays contain now.
 * Returns null if an array no longer contains only tensors.
 */
function inputsNow(
  { inputs, lists }: Recorded,
  readerOf: ReplayEnvironment['readerOf'],
  frames: readonly Frame[],
): CurrentInputs | null {
  const alone = inputs.filter(({ list }) => !list);
  const all = [...alone];
  const members = new Map<OuterTensors, TraceInput[]>();
  for (const list of lists) {
    const { source: base, path, keys } = list;
    const array = readerOf(base)(frames) as readonly unknown[];
    if (listLayout(array) === undefined) return null;
    if (keys !== undefined && keysInElements(array) !== keys) return null;
    const found = tensorsAt(array, path);
    if (!found) return null;
    const atIndex = new Map(alone.map((each) => [indexIn(list, each.source, found.length), each]));
    const elements = found.map((tensor, i) => {
      return atIndex.get(i) ?? { source: elementSource(base, String(i), path), tensor, list };
    });
    members.set(list, elements);
    for (const each of elements) if (each.list) all.push(each);
  }
  return { inputs: all, members };
}

/** Returns the grad mode that the trace is for; undefined for any mode. */
function gradModeOf({ guards }: TraceResult): boolean | undefined {
  const mode = guards.find((guard) => guard.kind === 'gradMode');
  return mode?.kind === 'gradMode' ? mode.enabled : undefined;
}

/** Adds the inputs of a call to a program, noting them in `found`; returns the tensors of each array. */
function addInputs(
  builder: ProgramBuilder,
  { inputs, members }: CurrentInputs,
  layoutOf: ReplayEnvironment['layoutOf'],
  found: Map<Tensor, Tensor>,
): Map<TensorList, readonly Tensor[]> {
  const values = new Map<TraceInput, Tensor>();
  for (const each of inputs) {
    const { tensor, list } = each;
    const { shape, strides: present } = layoutOf(each);
    const { dtype, device, requiresGrad, isContiguous } = tensor;
    const strides = isContiguous ? contiguousStrides(shape) : present;
    const input = builder.input({ dtype, shape, strides, offset: 0, device });
    const traced = requireGrad(input, requiresGrad);
    // The tape refers to tensors in arrays by value, not by index.
    found.set(list ? traced : tensor, traced);
    values.set(each, traced);
  }
  return new Map(
    [...members].map(([list, elements]) => [list, elements.map((each) => values.get(each)!)]),
  );
}

/** Returns the replayed copy that a reshape made and returned a view of. */
function hiddenBase(
  base: Tensor,
  outputs: readonly Tensor[],
  found: ReadonlyMap<Tensor, Tensor>,
): Tensor | undefined {
  const view = outputs.find((output) => output.family?.base === base && found.has(output));
  return view && found.get(view)!.family?.base;
}

function playAt(
  { frames, readerOf, layoutOf }: ReplayEnvironment,
  recorded: Recorded,
): TraceResult | null {
  const { result, outputs, tape, sizes } = recorded;
  const now = inputsNow(recorded, readerOf, frames);
  if (!now) return null;
  const { inputs } = now;
  const found = new Map<Tensor, Tensor>();
  const capture = (tensor: Tensor): Tensor => {
    const there = found.get(tensor);
    if (there) return there;
    const held = inputs.find(({ source }) => source.kind === 'held' && source.value === tensor);
    if (!held) throw new TapeMismatch();
    return found.get(held.tensor)!;
  };
  const builder = new ProgramBuilder(capture, { replay: true });
  // A size read that was rolled back at a break can't be resolved: guards that need it are invalid for other sizes.
  const sizeOf = (read: SizeRead) => {
    const there = found.get(read.tensor);
    return there ? sizeIn(there, read) : Number.NaN;
  };
  const numbers = new ProgramNumbers(frames, sizes, sizeOf, readerOf);
  const stream = new CountedStream(numbers);
  try {
    const lists = addInputs(builder, now, layoutOf, found);
    const number = (expr: NumberExpr) => numberFor(numbers, sizes, expr);
    const surroundings = { builder, capture, outside: () => [], tape: [] };
    // A file may be written in another grad mode than its calls run in.
    withGradMode(gradModeOf(result), () =>
      withRandomSource(stream, () => {
        play(tape, { found, number, lists, surroundings });
      }),
    );
  } catch (error) {
    // The trace takes another path for these sizes, perhaps to a user error, so they get their own trace.
    if (error instanceof TapeMismatch || error instanceof TostaticError) return null;
    throw error;
  }
  const tensors: Tensor[] = [];
  for (const output of outputs) {
    const tensor = found.get(output) ?? hiddenBase(output, outputs, found);
    if (!tensor) return null;
    tensors.push(tensor);
  }
  const program = builder.finish(tensors.map((tensor) => builder.valueOf(tensor)));
  return {
    ...result,
    inputs: inputs.map(({ source }) => source),
    needsGrad: inputs.map(({ tensor }) => tensor.requiresGrad),
    guards: [
      ...result.guards.filter(dependsOnSizes),
      ...distinctInputs(inputs, program),
      ...distinctElements(inputs),
    ],
    sizes: sizes.reads.map(sizeOf),
    resized: null,
    scalars: numbers.scalars,
    numbers: numbers.sources,
    differentiable: tensors.map((tensor) => isDifferentiable(tensor, builder)),
    lost: tensors.map((tensor) => freedBelow(tensor, builder)),
    program,
    randomNumbers: stream.count,
  };
}
