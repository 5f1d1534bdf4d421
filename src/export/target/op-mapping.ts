import type { OpCall, TargetValue, TensorTarget } from './target.ts';

/** An op of a program, and the engine that it is lowered to. */
export interface TargetCall<V extends TargetValue, T extends TensorTarget<V> = TensorTarget<V>>
  extends OpCall<V> {
  readonly to: T;
}

/** Emits an op for any engine and returns its results, in order. */
export type CommonMapping = <V extends TargetValue>(call: TargetCall<V>) => V | readonly V[];

/** Forms of ops, by name. */
export type CommonMappings = Readonly<Record<string, CommonMapping>>;
