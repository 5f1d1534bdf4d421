/**
 * Checkpointed calls in branches and loops whose saved values a later backward reads. Eager execution then runs the body
 * again, and the body must read the same as in its first run. It can't be traced again outside of its branch or loop, so
 * everything that it can reach is compared instead.
 */

import { differs } from '../../../runtime/autograd/checkpoint.ts';
import type { OpRecord } from '../../../runtime/ops/record/define-op.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import { whileOp } from '../../../runtime/program/control-ops.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { AwaitedWork, CheckpointedWork, Rerun } from '../state/autograd-state.ts';
import type { RegionBuilder } from '../state/region-builder.ts';
import { RejectedEagerly } from '../state/rejected-eagerly.ts';
import type { Tracer } from '../state/tracer.ts';
import type { TraceFrame } from '../variables/trace-frame.ts';
import type { Variable } from '../variables/variable.ts';
import { containedIn } from './locations/contained-variables.ts';
import { reachedFrom } from './locations/reachable.ts';
import type { PathEnd } from './plans/path.ts';

/**
 * Called at the end of a branch or an iteration, before its changes are rolled back. Throws if a later backward would
 * throw or compute something else because of what the branch or iteration has changed. `existing`: the objects that were
 * created before it.
 */
export function leaveCheckpoints(
  t: Tracer,
  region: RegionBuilder,
  frame: TraceFrame,
  { targets, value }: PathEnd,
  existing: ReadonlySet<Variable>,
): void {
  for (const each of t.autograd.checkpoints) each.expectAsInRegion();
  const awaited = t.autograd.checkpoints.flatMap((each) => each.awaitedIn(region.builder) ?? []);
  if (awaited.length === 0) return;
  const pcs = targets.filter((target) => target !== 'return');
  const live = reachedFrom(t, frame, pcs, value).found;
  for (const work of awaited) {
    const reached = reachedBy(t, work);
    // A copy leaves the region, so changes of it don't show.
    if (reached.some((each) => mayChange(each) && !existing.has(each) && live.has(each))) {
      throw workDiffers();
    }
    region.awaited.push({ ...work, roots: reached });
  }
}

/** Whether the variable represents an object or variable that later code may change. */
function mayChange({ kind }: Variable): boolean {
  return (
    kind === 'cell' || kind === 'generator' || kind === 'class' || /^(new|iterator)/.test(kind)
  );
}

/** Returns everything that a body can reach: what it captures, and what the trace has put where the body reads. */
function reachedBy(t: Tracer, { roots, reads }: AwaitedWork): readonly Variable[] {
  const reached = new Set<Variable>(roots);
  for (const [object, keys] of reads) {
    for (const each of t.effects.partsChanged(object, keys)) if (each) reached.add(each);
  }
  return withContained(reached);
}

/** Adds everything that the variables contain, at any depth. */
function withContained(found: Set<Variable>): readonly Variable[] {
  for (const each of found) for (const part of containedIn(each)) if (part) found.add(part);
  return [...found];
}

/** Moves the awaited calls of a branch or loop to the program around it. Call this before its op is appended. */
export function checkpointsIn(
  t: Tracer,
  op: OpRecord,
  regions: readonly RegionBuilder[],
): { awaitedBy(results: readonly Tensor[]): void } {
  const inside = regions.flatMap((region) =>
    region.awaited.map((work) => new CheckpointInside(t, outside(region, work), op === whileOp)),
  );
  return {
    awaitedBy: (results) => {
      if (inside.length === 0) return;
      for (const each of inside) each.awaitedBy(results);
      t.journal.keepList(t.autograd.checkpoints);
      t.autograd.checkpoints.push(...inside);
    },
  };
}

/** Replaces the values of a region that a call reads by those of the surrounding program that may be their memory. */
function outside(region: RegionBuilder, { values, ...work }: AwaitedWork): AwaitedWork {
  const { memory } = region.builder;
  const read = region.outside().filter(({ input }) => {
    return values.some((id) => memory.mayShare(id, input));
  });
  return { ...work, values: read.map(({ outer }) => outer) };
}

/** A call in a branch or loop, as seen from the surrounding program. */
class CheckpointInside implements CheckpointedWork {
  readonly #t: Tracer;
  readonly #work: AwaitedWork;
  readonly #in: ProgramBuilder;
  #nodes: readonly GradNode[] = [];
  /**
   * The state that the body reads. For a loop it is that before the loop, which must be the same in every iteration and
   * after them; for a branch it is that after the branch, which may have set what the body reads.
   */
  #state: readonly unknown[] | null;

  constructor(t: Tracer, work: AwaitedWork, isLoop: boolean) {
    this.#t = t;
    this.#work = work;
    this.#in = t.builder;
    this.#state = isLoop ? this.#stateNow() : null;
  }

  awaitedBy(results: readonly Tensor[]): void {
    this.#nodes = results.flatMap(({ gradEdge }) => gradEdge?.node ?? []);
  }

  merged(): void {
    this.#state ??= this.#stateNow();
  }

  expectAsItWas(): void {
    if (!this.#isAwaited) return;
    const now = this.#stateNow();
    this.#state ??= now;
    if (!isSameState(now, this.#state)) throw workDiffers();
  }

  expectAsInRegion(): void {
    if (this.#in === this.#t.builder) this.expectAsItWas();
  }

  expectSameWork(): void {
    this.expectAsItWas();
  }

  awaitedIn(builder: ProgramBuilder): AwaitedWork | null {
    return this.#isAwaited && this.#in === builder ? this.#work : null;
  }

  rerun(): Rerun | null {
    if (!this.#isAwaited) return null;
    const { reads, places } = this.#work;
    return { nodes: this.#nodes, reads, places };
  }

  get #isAwaited(): boolean {
    const { freedNodes } = this.#t.builder;
    return this.#nodes.some((node) => !freedNodes.isFreed(node));
  }

  #stateNow(): readonly unknown[] {
    const { autograd } = this.#t;
    const { memory } = this.#in;
    const versions = this.#work.values.map((id) => memory.versionOf(id));
    const { reads } = this.#work;
    const put = [...reads].flatMap(([object, keys]) => {
      return referred([...this.#t.effects.partsChanged(object, keys)]);
    });
    const reached = reachedBy(this.#t, this.#work).flatMap((each) => [
      ...contentOf(each),
      ...referred(containedIn(each)),
    ]);
    return [autograd.switches, ...versions, ...put, ...reached];
  }
}

export function isSameState(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((each, i) => Object.is(each, other[i]));
}

/** Returns what identifies everything that the function can reach and assign, apart from the data of tensors. */
export function assignableBy(fn: Variable): readonly unknown[] {
  return withContained(new Set([fn])).flatMap((each) =>
    each.kind === 'tensor' ? [each] : [...contentOf(each), ...referred(containedIn(each))],
  );
}

/** Returns what identifies the variables in their order, which an object that is reached twice would not show. */
function referred(parts: readonly (Variable | null | undefined)[]): readonly unknown[] {
  const each = parts.map((part) => (part?.kind === 'constant' && !part.source ? part.value : part));
  return [parts.length, ...each];
}

/** Returns what identifies a variable and its present content, which shows no contained variables. */
function contentOf(variable: Variable): readonly unknown[] {
  switch (variable.kind) {
    case 'constant':
      return [variable.source ? variable : variable.value];
    case 'tensor': {
      const { source, traced, grad } = variable;
      return [variable, source ? null : traced, grad];
    }
    case 'scalar':
    case 'list':
    case 'dynamic':
      return [variable, variable.tensor];
    case 'newTypedArray':
      return [variable, ...variable.data];
    case 'newObject':
      return [variable, ...variable.entries.keys()];
    case 'regexp':
      return [variable, variable.lastIndex];
    case 'iterator':
      return [variable, variable.next, variable.done];
    case 'generator':
      return [variable, variable.frame.pc];
    // Its object changes in place.
    case 'newHost':
      return [variable.type ? Symbol('changed') : variable];
    default:
      return [variable];
  }
}

const workDiffers = () =>
  new RejectedEagerly(differs('it reads what has changed since'), { perhaps: true });
