import type { TargetCall } from '../target/op-mapping.ts';
import type { TargetValue, TensorTarget } from '../target/target.ts';

/** How an engine takes the maximum of windows. */
interface Pooling<V extends TargetValue, T extends TensorTarget<V>> {
  /** The first maximum of each window, and its position in the plane; NaN is the largest. */
  forward(call: TargetCall<V, T>): readonly [values: V, places: V];
  /** Sums gradients at positions in the planes. */
  backward(call: TargetCall<V, T>): V;
  /**
   * The position in a plane of that width where each window starts, including padding: int32, with sizes that are
   * those of the windows or broadcast to them.
   */
  starts(call: TargetCall<V, T>, windows: V['shape'], width: V['shape'][number]): V;
}

/** Coded positions are relative to the start of their window. */
export function poolingOps<V extends TargetValue, T extends TensorTarget<V>>(
  on: Pooling<V, T>,
): Readonly<Record<string, (call: TargetCall<V, T>) => V | readonly V[]>> {
  return {
    maxPool2d: on.forward,
    maxPool2dGrad: on.backward,
    maxPool2dCoded: (call) => {
      const { to, inputs, outputs } = call;
      const [values, places] = on.forward(call);
      const starts = on.starts(call, outputs[1]!.shape, inputs[0]!.shape[3]!);
      return [values, to.convert(to.binary('subtract', places, starts), 'ui8')];
    },
    maxPool2dCodedGrad: (call) => {
      const { to, outputs } = call;
      const [dy, codes, ...others] = call.inputs as [V, V, ...V[]];
      const starts = on.starts(call, dy.shape, outputs[0]!.shape[3]!);
      const places = to.binary('add', to.convert(codes, 'i32'), starts);
      return on.backward({ ...call, inputs: [dy, places, ...others] });
    },
  };
}
