import type { Device } from '../../device/device.ts';
import type { Attrs } from '../../device/kernel-op.ts';
import { launchAttrs } from '../../device/symbolic-attrs.ts';
import type { TensorMeta } from '../../device/tensor-meta.ts';
import type { OpRecord } from '../record/define-op.ts';
import {
  isKept,
  type Operand,
  operandsOf,
  type PreparedCall,
  preparedCall,
  sameAttrs,
  sameOperands,
} from './prepared-call.ts';

/** One op of a recorded run, with the ops that came after it in one run or another. */
interface Step {
  readonly op: OpRecord;
  readonly device: Device;
  readonly inputs: readonly Operand[];
  readonly attrs: Attrs;
  /** Attributes that may differ from run to run. */
  readonly varying: ReadonlySet<string>;
  /** Null: a view, which has no kernel, or a kernel that is bound each time. */
  readonly call: PreparedCall | null;
  readonly next: Step[];
}

/** Plain data. */
export interface CallTraceCounts {
  readonly runs: number;
  /** Ops on record. */
  readonly recorded: number;
  /** Ops that were those on record at their place. */
  readonly matched: number;
  /** Runs in which an op was none of those that had come after the op before it. */
  readonly divergences: number;
}

/** Beyond these no more is recorded: every run takes another path. */
const mostSteps = 4096;
const mostBranches = 8;

let current: CallTrace | null = null;

/** The trace of the function that runs; null almost always. */
export const currentCallTrace = (): CallTrace | null => current;

/** Ops of `body` are not those of the function that runs. */
export function withoutCallTrace<T>(body: () => T): T {
  const outer = current;
  current = null;
  try {
    return body();
  } finally {
    current = outer;
  }
}

/**
 * The ops of a function that runs by itself, in order: recorded once, then each op that is called is looked for
 * among those that followed the last one. What matches (the op, its attributes, the dtypes, shapes
 * and strides of its operands, its device) has its kernel bound already. Ops run when they are called, so
 * values, gradients, errors, memory and random numbers are those of eager execution.
 */
export class CallTrace {
  readonly #first: Step[] = [];
  /** Steps that may come next; undefined once nothing more is recorded in this run. */
  #next: Step[] | undefined;
  #diverged = false;
  #runs = 0;
  #recorded = 0;
  #matched = 0;
  #divergences = 0;

  /** Runs the function; one that calls itself stays in its first run. */
  around<T>(body: () => T): T {
    if (current === this) return body();
    const outer = current;
    current = this;
    this.#next = this.#first;
    this.#diverged = false;
    this.#runs++;
    try {
      return body();
    } finally {
      current = outer;
    }
  }

  counts(): CallTraceCounts {
    return {
      runs: this.#runs,
      recorded: this.#recorded,
      matched: this.#matched,
      divergences: this.#divergences,
    };
  }

  /** The bound kernel of an op that is about to run. */
  call(op: OpRecord, inputs: readonly TensorMeta[], attrs: Attrs, device: Device): PreparedCall {
    const step = this.#match(op, inputs, attrs, device);
    if (step?.call) return step.call;
    const call = preparedCall(op, inputs, attrs, device);
    if (!step) this.#record(op, inputs, attrs, device, isKept(inputs, device) ? call : null);
    return call;
  }

  /** A view is made. */
  view(op: OpRecord, inputs: readonly TensorMeta[], attrs: Attrs, device: Device): void {
    if (!this.#match(op, inputs, attrs, device)) this.#record(op, inputs, attrs, device, null);
  }

  #match(
    op: OpRecord,
    inputs: readonly TensorMeta[],
    attrs: Attrs,
    device: Device,
  ): Step | undefined {
    const branches = this.#next;
    if (!branches) return undefined;
    for (let i = 0; i < branches.length; i++) {
      const step = branches[i]!;
      if (step.op !== op || step.device !== device || !sameOperands(step.inputs, inputs)) continue;
      if (!sameAttrs(step.attrs, attrs, step.varying)) continue;
      this.#matched++;
      this.#next = step.next;
      return step;
    }
    return undefined;
  }

  #record(
    op: OpRecord,
    inputs: readonly TensorMeta[],
    attrs: Attrs,
    device: Device,
    call: PreparedCall | null,
  ): void {
    if (this.#runs > 1 && !this.#diverged) {
      this.#diverged = true;
      this.#divergences++;
    }
    const branches = this.#next;
    if (!branches || branches.length >= mostBranches || this.#recorded >= mostSteps) {
      this.#next = undefined;
      return;
    }
    this.#recorded++;
    const varying = launchAttrs(op);
    const step = { op, device, inputs: operandsOf(inputs), attrs, varying, call, next: [] };
    branches.push(step);
    this.#next = step.next;
  }
}
