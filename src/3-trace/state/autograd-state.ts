import type { HookHandle } from '../../../runtime/backward/hooks.ts';
import type { UserPosition } from '../../../runtime/errors/position.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import type { TensorVariable, Variable } from '../variables/variable.ts';

/** The call that made something which a trace can hold only as long as it lasts. */
export interface Site {
  readonly code: Code;
  readonly pc: Pc;
}

/** A trace's knowledge of the gradients inside it, beyond the graph of its tensors. */
export class AutogradState {
  /** Results whose `.grad` backward fills. */
  readonly retained: TensorVariable[] = [];
  /**
   * Nodes and leaves at which backward does more than the ops of the program say. The phase that differentiates the
   * program later knows nothing of it: such a graph is freed inside, or the call runs natively.
   */
  readonly watched = new Map<GradNode | Tensor, Site>();
  /** Backward may come to code of the user's. */
  callsUser = false;
  /** Pre-existing tensors whose `requiresGrad` was changed, as values with the new one. */
  readonly switched = new Map<Tensor, Tensor>();
  /** How often the trace has made an outer tensor a leaf, or frozen one. */
  switches = 0;
  /** Calls of `checkpoint` so far. */
  readonly checkpoints: { expectAsItWas(): void }[] = [];
  /** Leaves that a branch or loop makes for itself, and where. */
  readonly leavesInside = new WeakMap<Tensor, UserPosition | undefined>();
  /** The objects that `registerHook` has returned. */
  readonly handles = new Map<Variable, { readonly handle: HookHandle; readonly site: Site }>();
  /** The tensors that `forward` of a custom function has saved, by its context. */
  readonly saved = new Map<Variable, readonly Tensor[]>();
}
