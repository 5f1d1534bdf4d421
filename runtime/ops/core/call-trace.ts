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

/** One op of a recorded run, with the ops that followed it in any run. */
interface Step {
  readonly op: OpRecord;
  readonly device: Device;
  readonly inputs: readonly Operand[];
  readonly attrs: Attrs;
  /** The names of attributes that may differ between runs. */
  readonly varying: ReadonlySet<string>;
  /** Null for a view, which has no kernel, and for a kernel that is bound each time. */
  readonly call: PreparedCall | null;
  readonly next: Step[];
}

/** Statistics as plain data. */
export interface CallTraceCounts {
  readonly runs: number;
  /** The number of recorded ops. */
  readonly recorded: number;
  /** The number of ops that matched a recorded one. */
  readonly matched: number;
  /** The number of runs in which an op matched none of the recorded successors. */
  readonly divergences: number;
}

/** The limit of recorded ops: beyond it, every run takes another path. */
const mostSteps = 4096;
const mostBranches = 8;

let current: CallTrace | null = null;

/** Returns the trace of the running function; usually null. */
export const currentCallTrace = (): CallTrace | null => current;

/** Runs `body` with its ops excluded from the running function's trace. */
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
 * Records, in order, the ops of a function that runs eagerly. Later runs look up each op among the recorded successors
 * of the previous op. A match (op, attributes, device, and the operands' dtypes, shapes and strides) reuses the bound
 * kernel. Ops still run when called, so values, gradients, errors, memory and random numbers are eager execution's.
 */
export class CallTrace {
  readonly #first: Step[] = [];
  /** The steps that may come next; undefined once this run records nothing more. */
  #next: Step[] | undefined;
  #diverged = false;
  #runs = 0;
  #recorded = 0;
  #matched = 0;
  #divergences = 0;

  /** Runs the function; recursive calls stay in the first run. */
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

  /** Returns the bound kernel of an op that is about to run. */
  call(op: OpRecord, inputs: readonly TensorMeta[], attrs: Attrs, device: Device): PreparedCall {
    const step = this.#match(op, inputs, attrs, device);
    if (step?.call) return step.call;
    const call = preparedCall(op, inputs, attrs, device);
    if (!step) this.#record(op, inputs, attrs, device, isKept(inputs, device) ? call : null);
    return call;
  }

  /** Matches or records a view. */
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
