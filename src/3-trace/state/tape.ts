/**
 * A trace's tensor API calls, in order, recorded so that they can be replayed for other sizes. A replay repeats all
 * decisions of the API on shapes, so it needs no knowledge of its functions.
 */

import { withGradMode } from '../../../runtime/autograd/grad-mode.ts';
import { withGuard } from '../../../runtime/device/current.ts';
import type { Device } from '../../../runtime/device/device.ts';
import { InvariantError } from '../../../runtime/errors/invariant.ts';
import type { UserPosition } from '../../../runtime/errors/position.ts';
import { withInterceptor } from '../../../runtime/ops/core/bind.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { NumberExpr } from '../../guards/number-expr.ts';
import { TensorList } from '../variables/tensor-list.ts';
import type { EnclosingProgram } from './enclosing-program.ts';

/** An operand: a number that may differ for other sizes. */
export class DeferredNumber {
  readonly expr: NumberExpr;
  constructor(expr: NumberExpr) {
    this.expr = expr;
  }
}

/**
 * Binds ops to the operands. Every decision must follow from the operands and the program so far. In a replay,
 * `replay` provides the replacements of recorded tensors.
 */
export type Perform<T = unknown> = (
  operands: readonly unknown[],
  builder: ProgramBuilder,
  replay?: Replay,
) => T;

export interface TapeCall {
  /** Tensors, deferred numbers, plain data, and arrays and objects of these. */
  readonly operands: readonly unknown[];
  readonly perform: Perform;
  readonly result: unknown;
  readonly gradMode: boolean | undefined;
  readonly guard: Device | null | undefined;
  /** The checkpointed call that the ops belong to. */
  readonly checkpoint: number | undefined;
  readonly at: UserPosition | undefined;
}

/** Resolves the operands of a tape in one program. */
export interface OperandResolver {
  tensor(recorded: Tensor): Tensor;
  number(expr: NumberExpr): number;
  tensors(list: TensorList): readonly Tensor[];
}

export function resolve(value: unknown, resolver: OperandResolver): unknown {
  if (value instanceof Tensor) return resolver.tensor(value);
  if (value instanceof DeferredNumber) return resolver.number(value.expr);
  if (Array.isArray(value)) {
    return value.flatMap((item): readonly unknown[] =>
      item instanceof TensorList ? resolver.tensors(item) : [resolve(item, resolver)],
    );
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, item]) => [key, resolve(item, resolver)]));
}

/** Returns the tensors among operands or results, including nested arrays and objects. */
export function tensorsIn(value: unknown): Tensor[] {
  if (value instanceof Tensor) return [value];
  if (Array.isArray(value)) return value.flatMap(tensorsIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.getPrototypeOf(value) === Object.prototype
    ? Object.values(value).flatMap(tensorsIn)
    : [];
}

/** Thrown if a tape leads to other results for other sizes, which are then traced separately. */
export class TapeMismatch extends Error {
  override readonly name = 'TapeMismatch';
}

/** A program that is rebuilt for other sizes. */
export interface Replay {
  /** The replacements of recorded tensors, inputs first. */
  readonly found: Map<Tensor, Tensor>;
  readonly number: OperandResolver['number'];
  readonly lists: Map<TensorList, readonly Tensor[]>;
  readonly surroundings: EnclosingProgram;
}

/** Replays a tape into another program. */
export function play(tape: readonly TapeCall[], replay: Replay): void {
  const { found, lists } = replay;
  const resolver: OperandResolver = {
    tensor: (recorded) => {
      const there = found.get(recorded);
      if (!there) throw new InvariantError('a tape reads a tensor before it is made');
      return there;
    },
    number: replay.number,
    tensors: (list) => lists.get(list)!,
  };
  const { builder } = replay.surroundings;
  playCalls(tape, { resolver, found, used: new Set(found.values()), builder }, replay);
}

interface ReplayState {
  readonly resolver: OperandResolver;
  readonly found: Map<Tensor, Tensor>;
  /** The replacements of all recorded tensors that are possible operands or results. */
  readonly used: Set<Tensor>;
  readonly builder: ProgramBuilder;
}

/** Repeats recorded calls. `replay`: the program that is being rebuilt, if it isn't the recorded one. */
export function playCalls(
  calls: readonly TapeCall[],
  { resolver, found, used, builder }: ReplayState,
  replay?: Replay,
): void {
  const { checkpointed } = builder;
  // Repeated calls are checkpointed each on their own, unless all of them are part of one checkpointed call.
  const own: number[] = [];
  try {
    for (const { operands, perform, result, gradMode, guard, checkpoint, at } of calls) {
      const values = operands.map((operand) => resolve(operand, resolver));
      builder.at = at;
      builder.checkpointed = checkpointed;
      if (checkpoint !== undefined) {
        builder.checkpointed ??= own[checkpoint] ??= builder.checkpointCalls++;
      }
      const now = withInterceptor(builder, () =>
        withGuard(guard, () => withGradMode(gradMode, () => perform(values, builder, replay))),
      );
      match(result, now, found, used);
    }
  } finally {
    builder.checkpointed = checkpointed;
  }
}

/** Requires that the results match in everything that the trace relied on, which excludes sizes. */
function match(
  recorded: unknown,
  now: unknown,
  found: Map<Tensor, Tensor>,
  used: Set<Tensor>,
): void {
  if (recorded instanceof Tensor) {
    if (!(now instanceof Tensor)) throw new TapeMismatch();
    matchTensor(recorded, found.get(now) ?? now, found, used);
  } else if (Array.isArray(recorded)) {
    if (!Array.isArray(now) || now.length !== recorded.length) throw new TapeMismatch();
    recorded.forEach((item, i) => {
      match(item, now[i], found, used);
    });
  } else if (!Object.is(recorded, now)) {
    throw new TapeMismatch();
  }
}

function matchTensor(
  recorded: Tensor,
  now: Tensor,
  found: Map<Tensor, Tensor>,
  used: Set<Tensor>,
): void {
  if (!isAlike(recorded, now)) throw new TapeMismatch();
  const known = found.get(recorded);
  // Distinct results of the trace must remain distinct tensors.
  if (known ? known !== now : used.has(now)) throw new TapeMismatch();
  found.set(recorded, now);
  used.add(now);
}

export function isAlike(a: Tensor, b: Tensor): boolean {
  return (
    a.dtype === b.dtype &&
    a.rank === b.rank &&
    a.requiresGrad === b.requiresGrad &&
    a.isContiguous === b.isContiguous
  );
}
