import type { HookHandle } from '../../../runtime/backward/hooks.ts';
import type { UserPosition } from '../../../runtime/errors/position.ts';
import type { ProgramBuilder } from '../../../runtime/program/builder.ts';
import type { ValueId } from '../../../runtime/program/program.ts';
import type { GradNode } from '../../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import type { Code } from '../../vm/bytecode/code.ts';
import type { Pc } from '../../vm/bytecode/instructions.ts';
import type { ObjectsRead } from '../effects/objects-met.ts';
import type { BodyReads } from '../inputs/body-reads.ts';
import type { TensorVariable, Variable } from '../variables/variable.ts';

/** The call that created state which must not outlive the trace. */
export interface Site {
  readonly code: Code;
  readonly pc: Pc;
}

/** The reads of a checkpointed body. */
export interface AwaitedWork {
  /** The body, and what it captures. */
  readonly roots: readonly Variable[];
  readonly reads: ObjectsRead;
  /** The values that its ops read but didn't create. */
  readonly values: readonly ValueId[];
  readonly places: BodyReads;
}

/** A call of `checkpoint` whose body may run again after the graph. */
export interface Rerun {
  /** The nodes through which gradients enter the call. */
  readonly nodes: readonly GradNode[];
  readonly reads: ObjectsRead;
  readonly places: BodyReads;
}

/** A call of `checkpoint`, whose body a later backward runs again. */
export interface CheckpointedWork {
  expectAsItWas(): void;
  expectAsInRegion(): void;
  expectSameWork(): void;
  /** Returns null unless the call is part of this program and backward hasn't read yet what it saved. */
  awaitedIn(builder: ProgramBuilder): AwaitedWork | null;
  /** Returns null if backward has read all that the call saved. */
  rerun(): Rerun | null;
  /** Called after a branch, where its results are in their locations. */
  merged?(): void;
}

/** Autograd state of a trace, beyond the graph recorded by its tensors. */
export class AutogradState {
  /** Op results whose `.grad` backward sets. */
  readonly retained: TensorVariable[] = [];
  /**
   * Nodes and leaves at which backward does more than the program's ops. The differentiation phase can't know
   * about it, so such a graph must be freed inside the trace; otherwise the call runs natively.
   */
  readonly watched = new Map<GradNode | Tensor, Site>();
  /** True if backward may call user code. */
  callsUser = false;
  /** True once a backward has added to a gradient that existed: eager execution keeps that if it fails later. */
  hasAdded = false;
  /** Pre-existing tensors whose `requiresGrad` was changed, with the graph values that have the new flag. */
  readonly switched = new Map<Tensor, Tensor>();
  /** Pre-existing tensors whose gradients the function requests. */
  readonly targets = new Set<Tensor>();
  /** The number of `requiresGrad` changes of outer tensors. */
  switches = 0;
  /** Calls of `checkpoint` so far that backward doesn't trace again. */
  readonly checkpoints: CheckpointedWork[] = [];
  /** Leaves that a branch or loop creates for internal use, with their positions. */
  readonly leavesInside = new WeakMap<Tensor, UserPosition | undefined>();
  /** The nodes of custom functions that a branch or loop calls, with its program. */
  readonly functionsInside = new WeakMap<GradNode, ProgramBuilder>();
  /** Handles returned by `registerHook`. */
  readonly handles = new Map<Variable, { readonly handle: HookHandle; readonly site: Site }>();
  /** Tensors saved by the `forward` of a custom function, by its context. */
  readonly saved = new Map<Variable, readonly Tensor[]>();
}
