import type { DynamicCall } from '../../runtime/program/dynamic-call.ts';
import type { Plan, PlannedCall, PlannedSubgraph, Step } from '../../runtime/program/plan.ts';
import type { Program, ProgramOp, ValueId } from '../../runtime/program/program.ts';
import { bytesOf } from '../../runtime/program/value-bytes.ts';
import { movedOperands } from '../../runtime/run-program/control/moved-operands.ts';
import type { Choices } from '../programs/choices.ts';
import type { MemoryOptions } from '../programs/memory-options.ts';
import type { ForwardBefore } from './control/simulate-plan.ts';
import { type CountOptions, countInOrder } from './count-in-order.ts';
import { OpMemories } from './op-memory.ts';
import type { Storage } from './order/storages.ts';

export interface PlanOptions extends CountOptions {
  /** Makes a plan quickly: its order is found by a few walks. */
  readonly isFirst?: boolean;
  /** The choices of searches in an earlier compilation, or a record for new ones. */
  readonly choices?: Choices;
  /** The forward plan whose scope a backward program continues in. */
  readonly after?: ForwardBefore;
  readonly memory: Pick<MemoryOptions, 'freeAtLastUse' | 'reuse' | 'order'>;
  /** Rewrites the ordered program; `costOf` returns the peak of a rewritten one. */
  readonly rewrite?: Rewrite;
  /** Plans the regions of a control op; `recorded`: the tape is read. */
  readonly planRegions: PlanRegions;
  /** Plans a call with data-dependent shapes, once for each set of shapes that occurs. */
  readonly planCall: (call: DynamicCall, recorded: boolean) => PlannedCall;
}

/** `ordered`: in the order of single ops. `fused`: in the order of the ops that stage `ordered` fuses. */
export type RewriteStage = 'ordered' | 'fused';

/** `peakBefore`: the peak before the program was ordered again. */
type Rewrite = (
  program: Program,
  stage: RewriteStage,
  costOf: (program: Program) => number,
  peakBefore?: number,
) => Program;

/** `moves`: operands that die with the op and whose reference moves into its regions. */
export type PlanRegions = (
  op: ProgramOp,
  recorded: boolean,
  moves: readonly boolean[],
) => readonly PlannedSubgraph[];

export interface Planned {
  readonly plan: Plan;
  /** The program in the order of the plan. */
  readonly program: Program;
  /** Bytes of donated inputs that the program reads or returns: they were allocated before the run. */
  readonly donatedBytes: number;
  /** Storages of the kept values, for the program that continues with them. */
  readonly kept: ReadonlyMap<ValueId, Storage>;
}

/** Plans the steps of a program in its given order, and estimates their bytes. */
export function planInOrder(
  program: Program,
  original: Program,
  options: PlanOptions,
  memories = new OpMemories(program.values),
): Planned {
  const { planRegions, planCall } = options;
  const steps: Step[] = [];
  const { count, isRead } = countInOrder(
    program,
    options,
    memories,
    (op, frees, reuses, isRead) => {
      const step = { op, reuses, frees };
      if (op.op.kernel.kind !== 'control') {
        steps.push(step);
        return;
      }
      const recorded = isRead(op.outputs[op.outputs.length - 1]!);
      const inside = op.call
        ? { call: planCall(op.call, recorded) }
        : { regions: planRegions(op, recorded, movedOperands(step)) };
      steps.push({ ...step, ...inside });
    },
  );

  // Donated inputs were allocated before the run began.
  const donatedBytes = donatedBytesOf(program, options, isRead);
  const keep = new Set(options.keep);
  const outputStorages = new Set(program.outputs.map((id) => count.of(id)));
  const kept = new Map(options.keep.map((id) => [id, count.of(id)]));
  const savedStorages = new Set([...kept.values()].filter((s) => !outputStorages.has(s)));
  const freesAtEnd = count.values().filter((id) => !keep.has(id));
  for (const id of freesAtEnd) count.free(id);
  return {
    program,
    donatedBytes,
    kept: new Map([...kept].map(([id, s]) => [id, outputStorages.has(s) ? callersMemory(s) : s])),
    plan: {
      inputs: program.inputs,
      steps,
      arenaBytes: 0,
      outputs: program.outputs,
      unusedInputs: program.inputs.filter((id) => !isRead(id)),
      freesAtEnd,
      reordered: program.ops.some((op, i) => op !== original.ops[i]),
      predicted: {
        peakBytes: count.peak - donatedBytes,
        lowerBoundBytes: 0,
        savedBytes: sumBytes(savedStorages),
        copiedBytes: 0,
        outputBytes: sumBytes(outputStorages),
      },
    },
  };
}

/** Returns the peak alone, for a program without control ops in its given order. */
export function peakInOrder(program: Program, options: CountOptions, memories: OpMemories): number {
  const { count, isRead } = countInOrder(program, options, memories);
  return count.peak - donatedBytesOf(program, options, isRead);
}

/** Returns the bytes of the donated inputs that the program reads or returns. */
function donatedBytesOf(
  { values }: Program,
  { donated = [] }: { readonly donated?: Iterable<ValueId> },
  isRead: (id: ValueId) => boolean,
): number {
  let bytes = 0;
  for (const id of donated) if (isRead(id)) bytes += bytesOf(values, id);
  return bytes;
}

/** Returns the storage of a saved value that is an output: the caller owns it, so the program must not free it. */
function callersMemory({ owners }: Storage): Storage {
  return { bytes: 0, exclusive: false, owners };
}

function sumBytes(storages: Iterable<Pick<Storage, 'bytes'>>): number {
  let bytes = 0;
  for (const storage of storages) bytes += storage.bytes;
  return bytes;
}
