import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import type { Field } from '../../../runtime/save/file/field.ts';
import { dtypes } from '../../../runtime/spec/dtype.ts';
import { sizeOf } from '../../../runtime/spec/shape.ts';
import { Choices, readIndices } from '../../programs/choices.ts';
import type { Steps } from '../../programs/steps.ts';
import { fusedForm } from '../fuse/fused-form.ts';
import { productsReadApart, slicedApart } from './read-apart.ts';
import { findRegion, type SlicePlan } from './region.ts';
import { type EstimatedTimes, isNoSlower, roughTimes } from './rough-time.ts';
import { splitsAny } from './rules.ts';
import { writeSlices } from './write-slices.ts';

/** Estimates the bytes of a program, to compare candidates. */
type Cost = (program: Program) => number;

/** The number of parts is doubled while that saves at least this share of the bytes: every part costs time. */
const worthwhile = 0.05;
/** A product that is read in parts is sliced if that saves at least this share. */
const worthwhileApart = 0.0125;
/** Limits on the ops of a sliced program, as planning takes time; the second applies to more than `fewParts` parts. */
const [mostOps, mostOpsOfMany] = [40_000, 4000];
/**
 * The limits without a budget, where a sliced program is planned only once. Planning time is proportional to the number
 * of ops, so large programs may grow in proportion: a step isn't cut into fewer slices as its model gets deeper.
 */
export const limitsPlannedOnce = { most: 60_000, growth: 3 } as const;
const [fewParts, mostParts] = [8, 32];
/** A smaller saving is negligible. */
const leastBytes = 1 << 16;
/** Slices are tried if gradients take at least this share of all bytes. */
const largeShare = 1 / 20;

/**
 * In: a training step as one program. Out: a bitwise identical program with fewer live bytes: a chain of ops runs part
 * by part along one dimension, and its intermediate values exist only in parts.
 *
 * - Along the batch: forward and backward of a few samples, then of the next; sums over the batch continue from part to
 *   part, in the same order as unsliced.
 * - Along the rows of a weight: a part of its gradient, and the update of these rows.
 *
 * Nothing is computed twice. Programs that update nothing are returned unchanged. Unless the program `mayBeSlower`,
 * only slices that the time model predicts to be no slower are used. Each candidate is a step of the generator.
 */
export function* chooseSlices(
  program: Program,
  costOf: Cost,
  mayBeSlower = true,
  {
    timesOf = fusedTimes,
    choices = Choices.none(),
    most: least = mostOps,
    growth = 1,
    enough = 0,
    mayRecompute = false,
  }: SliceOptions = {},
): Steps<Program> {
  if (!isTrainingStep(program) || !sumsInBlocks(program)) return program;
  const most = Math.max(least, growth * program.ops.length);
  const known = choices.of('slices', (choice) => knownSlices(program, choice, most));
  if (known) return known;
  const taken: TakenSlices = { batch: null, apart: [], updates: [] };
  const cost = costOf(program);
  let best = program;
  if (cost >= leastBytes && cost > enough) {
    const isFastEnough = mayBeSlower ? () => true : noSlowerThan(program, timesOf);
    const search = {
      costOf,
      isFastEnough,
      taken,
      splitsBlocks: mayBeSlower,
      most,
      enough,
      mayRecompute,
    };
    const batch = yield* sliceBatch(program, cost, search);
    const [whole, needed] = yield* sliceReadApart(...batch, search);
    best = yield* sliceUpdates(whole, needed, search);
  }
  choices.note('slices', taken);
  return best;
}

interface SliceOptions {
  /** Programs with few parts don't grow beyond this many ops, or `growth` times their own. */
  readonly most?: number;
  readonly growth?: number;
  /**
   * Slicing stops once the program needs at most this many bytes, since slices may take time; by default all slices
   * that save bytes are used.
   */
  readonly enough?: number;
  /**
   * Whether values may be recomputed later, which lowers the peak to what single ops need. Gradients of large
   * convolutions are then sliced even if the peak is elsewhere.
   */
  readonly mayRecompute?: boolean;
  readonly timesOf?: (program: Program) => EstimatedTimes;
  readonly choices?: Choices | undefined;
}

interface BatchSlices {
  readonly size: number;
  readonly parts: number;
  /** Whether slices may end within blocks of sums. */
  readonly splitsBlocks: boolean;
}

/** The candidates that were used, in order. */
interface TakenSlices {
  batch: BatchSlices | null;
  /** Results of sliced products that are read in parts. */
  readonly apart: ValueId[];
  /** Indices of the products that compute large gradients. */
  readonly updates: number[];
}

/** Applies the slices that an earlier compilation chose. */
function knownSlices(program: Program, choice: Field, most: number): Program {
  const candidate = (found: Program | null | undefined) =>
    found ?? choice.fail('slices of the program');
  let best = program;
  const batch = choice.get('batch');
  if (!batch.isNull) {
    const sizes = batchSizes(program);
    const size = sizes[sizes.indexOf(batch.get('size').int(2, Number.MAX_SAFE_INTEGER))];
    const parts = batch.get('parts').int(2, mostParts);
    if (size === undefined || size % parts !== 0) return batch.fail('parts of a batch');
    const splitsBlocks = batch.get('splitsBlocks').boolean();
    best = candidate(sliced(program, { ...batchPlan(program, size), parts, splitsBlocks }, most));
  }
  for (const result of choice.get('apart').items()) {
    const id = result.int(0, best.values.length - 1);
    const next = productsReadApart(best).find(
      ({ product }) => best.ops[product]!.outputs[0] === id,
    );
    best = candidate(next && slicedApart(best, next.plan));
  }
  const products = productsOf(best);
  for (const number of readIndices(choice.get('updates'), products.length)) {
    best = candidate(slicedUpdate(best, products[number]!));
  }
  return best;
}

/**
 * The search that decides between a program and the same program with slices. Bytes are compared first: estimating the
 * time requires fusing the program, which takes many times as long as counting its bytes.
 */
interface Search {
  readonly taken: TakenSlices;
  readonly most: number;
  readonly enough: number;
  readonly mayRecompute: boolean;
  /** Whether slices may end within blocks of sums, which takes more ops. */
  readonly splitsBlocks: boolean;
  readonly costOf: Cost;
  readonly isFastEnough: (candidate: Program, best: Program) => boolean;
}

/** The tolerance of the time model: candidates may be predicted to be slower by this share. */
const roughness = 0.02;

/** Estimates the times of a program in its fused form: a chain is one launch, and so is each of its parts. */
function fusedTimes(program: Program): EstimatedTimes {
  return roughTimes(fusedForm(program, new Set(program.outputs)));
}

/** Checks that a candidate is no slower than the best one so far, and faster than without slices. */
function noSlowerThan(
  original: Program,
  modelled: (program: Program) => EstimatedTimes,
): Search['isFastEnough'] {
  const known = new Map<Program, EstimatedTimes>();
  const timesOf = (program: Program): EstimatedTimes => {
    const times = known.get(program) ?? modelled(program);
    known.set(program, times);
    return times;
  };
  return (candidate, best) => {
    const whole = timesOf(original);
    const times = timesOf(candidate);
    return isNoSlower(times, whole, 1 - roughness) && isNoSlower(times, timesOf(best));
  };
}

function isTrainingStep({ ops, inputs }: Program): boolean {
  if (ops.some(({ op }) => op.kernel.kind === 'control')) return false;
  const inputIds = new Set(inputs);
  return ops.some(({ op, inputs: [target] }) => op.inPlace && inputIds.has(target!));
}

function sumsInBlocks({ values }: Program): boolean {
  return values.every(({ device }) => device.sumsInBlocks);
}

function isLarge({ ops }: Program): boolean {
  return ops.length > mostOpsOfMany;
}

/** Returns null if slicing is impossible or, without `splitsBlocks`, if a slice would end within a block of a sum. */
function sliced(program: Program, plan: SlicePlan, most: number): Program | null {
  const { parts } = plan;
  const region = findRegion(program, plan);
  if (plan.splitsBlocks && region && !splitsAny(region.slicings.values(), parts)) return null;
  const limit = parts > fewParts ? mostOpsOfMany : most;
  if (!region || program.ops.length + region.slicings.size * (parts - 1) > limit) return null;
  return writeSlices(program, region, parts);
}

type Chosen = readonly [program: Program, cost: number];

function* sliceBatch(
  program: Program,
  cost: number,
  { costOf, isFastEnough, taken, splitsBlocks, most, enough }: Search,
): Steps<Chosen> {
  let best: Chosen = [program, cost];
  for (const size of batchSizes(program)) {
    const plan = batchPlan(program, size);
    for (let parts = 2; parts <= mostParts && size % parts === 0; parts *= 2) {
      const before = best[1];
      for (const splits of splitsBlocks && parts <= fewParts ? [true, false] : [false]) {
        // If blocks would be split, computing the sum with one op on all slices rarely needs fewer bytes.
        if (!splits && best[1] < before && isLarge(best[0])) continue;
        const candidate = sliced(program, { ...plan, parts, splitsBlocks: splits }, most);
        if (!candidate) continue;
        yield;
        const bytes = costOf(candidate);
        if (bytes > before * (1 - worthwhile) || bytes >= best[1]) continue;
        yield;
        if (!isFastEnough(candidate, best[0])) continue;
        best = [candidate, bytes];
        taken.batch = { size, parts, splitsBlocks: splits };
        if (bytes <= enough) return best;
      }
    }
  }
  return best;
}

/** Returns the inputs that form a step's batch: read, never written, and not scalar. */
function batchInputs({ ops, inputs, values }: Program): ValueId[] {
  const written = new Set(ops.flatMap(({ op, inputs: [x] }) => (op.inPlace ? [x!] : [])));
  return inputs.filter((id) => !written.has(id) && values[id]!.shape.length > 0);
}

function batchSizes(program: Program): number[] {
  const sizes = batchInputs(program).map((id) => program.values[id]!.shape[0]!);
  return [...new Set(sizes)].filter((size) => size > 1);
}

function batchPlan(program: Program, batch: number): Omit<SlicePlan, 'parts'> {
  const { values } = program;
  const ids = batchInputs(program).filter((id) => values[id]!.shape[0] === batch);
  const from = new Set(ids.filter((id) => dtypes[values[id]!.dtype].floating));
  return { seeds: new Map(ids.map((id) => [id, 0])), from, batch };
}

/** Largest first: once it is sliced, most others don't contribute to the peak. */
function* sliceReadApart(
  program: Program,
  cost: number,
  { costOf, isFastEnough, taken, most, enough }: Search,
): Steps<Chosen> {
  let best: Chosen = [program, cost];
  const bytes = ({ ops, values }: Program, index: number) =>
    sizeOf(values[ops[index]!.outputs[0]!]!.shape);
  const tried = new Set<ValueId>();
  for (;;) {
    const [program, cost] = best;
    const [next] = productsReadApart(program)
      .filter(({ product }) => !tried.has(program.ops[product]!.outputs[0]!))
      .sort((a, b) => bytes(program, b.product) - bytes(program, a.product));
    if (!next || cost <= enough) return best;
    const [result] = program.ops[next.product]!.outputs;
    tried.add(result!);
    const candidate = slicedApart(program, next.plan);
    if (!candidate || candidate.ops.length > most) continue;
    yield;
    const needed = costOf(candidate);
    if (needed > cost * (1 - worthwhileApart)) continue;
    yield;
    if (!isFastEnough(candidate, program)) continue;
    best = [candidate, needed];
    taken.apart.push(result!);
  }
}

/** Slices the gradients of large weights: each is applied part by part. */
function* sliceUpdates(
  program: Program,
  cost: number,
  { costOf, isFastEnough, taken, enough, mayRecompute }: Search,
): Steps<Program> {
  const all = productsOf(program);
  const beside = mayRecompute ? costOf({ ...program, ops: [] }) : 0;
  let best: Chosen = [program, cost];
  for (const [number, product] of all.entries()) {
    if (best[1] <= enough) break;
    // The gradient of a product may be fused with its update, a few rows at a time.
    const staysWhole = mayRecompute && product.op.name !== 'matmul';
    const least = (cost - (staysWhole ? beside : 0)) * largeShare;
    if (bytesOfResult(product, program) < least) continue;
    const candidate = slicedUpdate(best[0], product);
    if (!candidate) continue;
    yield;
    const needed = costOf(candidate);
    if (staysWhole ? needed > best[1] : needed >= best[1]) continue;
    yield;
    if (!isFastEnough(candidate, best[0])) continue;
    best = [candidate, needed];
    taken.updates.push(number);
  }
  return best[0];
}

/** By op that may compute the gradient of a weight: the dimension of operand 0 that is the weight's first. */
const weightGradients: Readonly<Record<string, number>> = { matmul: 0, conv2dWeightGrad: 1 };

function productsOf({ ops }: Program): readonly ProgramOp[] {
  return ops.filter(({ op }) => Object.hasOwn(weightGradients, op.name));
}

function bytesOfResult({ outputs: [id] }: ProgramOp, { values }: Program): number {
  const { shape, dtype } = values[id!]!;
  return sizeOf(shape) * dtypes[dtype].bytes;
}

/** Computes a weight's gradient and its update part by part. */
function slicedUpdate(program: Program, { op, inputs: [a], outputs }: ProgramOp): Program | null {
  if (op.name === 'matmul' && program.values[a!]!.shape.length !== 2) return null;
  const rows = program.values[outputs[0]!]!.shape[0]!;
  const parts = [8, 4, 2].find((count) => rows % count === 0);
  if (parts === undefined) return null;
  const seeds = new Map([[a!, weightGradients[op.name]!]]);
  const region = findRegion(program, { parts, seeds, from: new Set([a!]) });
  return region && region.written.size > 0 ? writeSlices(program, region, parts) : null;
}
