import { hasChangingAttrs, launchAttrs } from '../../../../runtime/device/symbolic-attrs.ts';
import { invariant } from '../../../../runtime/errors/invariant.ts';
import { alignedBytes } from '../../../../runtime/memory/allocator.ts';
import type { PlannedSubgraph } from '../../../../runtime/program/plan.ts';
import { scalarTableIn } from '../../../../runtime/program/scalars.ts';
import { changingAttrs } from '../../../../runtime/run-program/changing-attrs.ts';
import { mostLive } from '../../../7-plan/arena/layout.ts';
import { NotRecorded } from '../actions/actions.ts';
import { type Place, type Recording, recordPlan } from '../recording/record-plan.ts';
import type { KernelChoice } from '../recording/recorded-heap.ts';
import { notInModule } from '../recording/recording-device.ts';
import { arbitraryNumbers, NumberMatcher } from '../recording/run-numbers.ts';
import { exactLayout } from './exact-layout.ts';

/** A plan as actions at addresses of a module's memory. */
export interface CompiledPlan {
  readonly planned: PlannedSubgraph;
  readonly actions: NumberMatcher;
  readonly outputs: readonly Place[];
  readonly copied: Recording['copied'];
  /** The plan's peak: the most bytes allocated at any time, without inputs. */
  readonly plannedBytes: number;
  /** The size of the block that contains everything the run allocates. */
  readonly arenaBytes: number;
  /** Bytes of kernels after that block: values between the stages of staged ops, and tables. */
  readonly besideBytes: number;
}

/** An address far from everything else. */
const apart = 2 ** 30;

/** `arena`: the address where the run's own memory begins. Throws ArgumentError that names an unsupported op. */
export function compilePlan(
  planned: PlannedSubgraph,
  inputs: readonly Place[],
  arena: number,
  choice: KernelChoice,
): CompiledPlan {
  expectStraight(planned);
  const table = scalarTableIn(planned);
  const values = table?.evaluate(table.inputs()) ?? [];
  let next = apart;
  const somewhere = (_allocation: number, bytes: number) => {
    next += bytes;
    return next - bytes;
  };
  const trial = {
    ...{ inputs, place: somewhere, scalars: values, choice },
    besides: { inner: 0, tables: 2 * apart },
  };
  const { lives, innerBytes, tableBytes } = recordPlan(planned, trial);
  const plannedBytes = mostLive(lives);
  const { predicted } = planned.forward;
  invariant(
    plannedBytes === predicted.peakBytes,
    `a recorded run takes ${plannedBytes} bytes, and its plan says ${predicted.peakBytes}`,
  );
  const { offsets, bytes } = exactLayout(lives);
  const place = (allocation: number) => arena + offsets[allocation]!;
  const inner = arena + bytes;
  const besides = { inner, tables: inner + alignedBytes(innerBytes) };
  const record = (scalars: readonly number[]) => {
    return { scalars, ...recordPlan(planned, { inputs, place, besides, scalars, choice }) };
  };
  const first = record(values);
  const others = table ? [17, 71].map((seed) => record(arbitraryNumbers(values.length, seed))) : [];
  try {
    return {
      planned,
      actions: new NumberMatcher(first, others),
      outputs: first.outputs,
      copied: first.copied,
      plannedBytes,
      arenaBytes: bytes,
      besideBytes: alignedBytes(innerBytes) + alignedBytes(tableBytes),
    };
  } catch (error) {
    throw error instanceof NotRecorded ? notInModule('a program', error.message) : error;
  }
}

/** Requires a list of ops whose positions don't depend on data or on numbers of the run. */
function expectStraight({ forward: { steps } }: PlannedSubgraph): void {
  for (const { op } of steps) {
    const { kernel, name } = op.op;
    if (kernel.kind === 'control') {
      throw notInModule(name, 'a branch, a loop, a check or a size that depends on data');
    }
    if (kernel.kind === 'transfer') throw notInModule(name, 'several devices');
    if (!hasChangingAttrs(op.attrs)) continue;
    if (kernel.kind === 'view') throw notInModule(name, 'a place that each run computes');
    const told = launchAttrs(op.op);
    const bound = changingAttrs(op.attrs).names.filter((each) => !told.has(each));
    if (bound.length > 0) {
      throw notInModule(
        name,
        `${bound.join(', ')}, which each run computes and the kernel is made for`,
      );
    }
  }
}
