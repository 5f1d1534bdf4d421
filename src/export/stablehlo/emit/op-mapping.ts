import type { TargetCall } from '../../target/op-mapping.ts';
import type { Emitter, Value } from './emitter.ts';

/** One op of a program that is lowered to StableHLO. */
export type OpCall = TargetCall<Value, Emitter>;

/** Emits an op and returns its results, in order. */
export type OpMapping = (call: OpCall) => Value | readonly Value[];
