import { describe, expect, expectTypeOf, it } from 'vitest';
import { full, zeros } from '../../runtime/ops/movement/create.ts';
import { rand } from '../../runtime/ops/random/drawn.ts';
import type { DType, TypedArray } from '../../runtime/spec/dtype.ts';
import type { Promoted } from '../../runtime/spec/dtype-types.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import type { Nested } from '../../runtime/tensor-methods/nested.ts';
import type * as library from '../../src/index.ts';
import { type Tensor, tensor } from '../ops/eager.ts';

/** Types are checked by the compiler; that values have them, by running. */
function expectDType<D extends DType>(x: Tensor<D>, dtype: D): void {
  expect(x.dtype).toBe(dtype);
}

describe('the dtype in the type', () => {
  it('comes from the data and the options of what makes a tensor', () => {
    tidy(() => {
      expectDType<'float32'>(tensor([1, 2]), 'float32');
      expectDType<'float32'>(tensor([[1], [2]], { requiresGrad: true }), 'float32');
      expectDType<'bool'>(tensor([[true]]), 'bool');
      expectDType<'float64'>(tensor(new Float64Array(2)), 'float64');
      expectDType<'int32'>(tensor(new Int32Array(2), { shape: [2, 1] }), 'int32');
      expectDType<'uint8'>(tensor(new Uint8Array(2)), 'uint8');
      expectDType<'bfloat16'>(tensor([1], { dtype: 'bfloat16' }), 'bfloat16');
      expectDType<'float32'>(zeros([2]), 'float32');
      expectDType<'int32'>(full([2], 1, { dtype: 'int32' }), 'int32');
      expectDType<'float64'>(rand([2], { dtype: 'float64' }), 'float64');
    });
  });

  it('decides the array that data() answers', () => {
    tidy(() => {
      expectTypeOf(zeros([1]).dataSync()).toEqualTypeOf<Float32Array>();
      expectTypeOf(zeros([1]).double().data()).resolves.toEqualTypeOf<Float64Array>();
      expectTypeOf(zeros([1]).half().dataSync()).toEqualTypeOf<Uint16Array>();
      expectTypeOf(tensor([true]).toArraySync()).toEqualTypeOf<Nested<'bool'>>();
      const any: Tensor = zeros([1]);
      expectTypeOf(any.dataSync()).toEqualTypeOf<TypedArray>();
    });
  });

  it('follows ops by the rules of promotion', () => {
    tidy(() => {
      const [float, double, int] = [zeros([2]), zeros([2]).double(), zeros([2]).int()];
      expectDType<'float64'>(float.add(double), 'float64');
      expectDType<'float32'>(int.mul(float), 'float32');
      expectDType<'float32'>(float.add(1), 'float32');
      expectTypeOf(int.add(1)).toEqualTypeOf<Tensor>();
      expectDType<'bool'>(float.lt(double), 'bool');
      expectDType<'int32'>(float.argmax(), 'int32');
      expectDType<'float64'>(double.reshape([2, 1]).t().exp().sum(), 'float64');
      expectDType<'float32'>(int.exp(), 'float32');
      expectDType<'int32'>(tensor([true]).sum(), 'int32');
      expectDType<'float32'>(int.to('float32'), 'float32');
      expectDType<'int32'>(int.to('cpu'), 'int32');
      expectTypeOf<Promoted<'float16', 'bfloat16'>>().toEqualTypeOf<'float32'>();
      expectTypeOf<Promoted<'uint8', 'float16'>>().toEqualTypeOf<'float16'>();
      expectTypeOf(int.split(1)).toEqualTypeOf<Tensor<'int32'>[]>();
      expectTypeOf(int.max(0)[1]).toEqualTypeOf<Tensor<'int32'>>();
    });
  });

  it('costs nothing where it is not known', () => {
    tidy(() => {
      const step = (x: Tensor, w: Tensor): Tensor => x.mul(w).sum();
      // Whatever is known of a tensor, it may stand where nothing is.
      let y: Tensor = zeros([2]);
      y = step(y, zeros([2]).double());
      y = y.add(1).exp();
      let z = y.mul(2);
      z = step(z, y);
      let total = z.sum();
      total = total.add(y);
      expectTypeOf(z).toEqualTypeOf<Tensor>();
      // A variable whose first value has a known dtype takes results of which nothing is known.
      let h = zeros([2]);
      h = step(h, h);
      h = h.sub(h.mean()).div(h.std().add(1)).pow(2).where(h.gt(0), 1);
      h = h.add(y);
      let place = tensor([1], { dtype: 'int32' });
      place = place.add(1);
      expectDType<'int32'>(place, 'int32');
      expectTypeOf(y.dtype).toEqualTypeOf<DType>();
      // @ts-expect-error: a known dtype stays what it is.
      h = h.gt(0);
    });
  });

  it('what a training run saves is taken by save()', () => {
    type Checkpoint = {
      model: library.nn.StateDict;
      optimizer: library.optim.OptimizerState;
      schedule: library.optim.SchedulerState;
      plateau: ReturnType<library.optim.ReduceLROnPlateau['stateDict']>;
      random: ReturnType<typeof library.randomState>;
      losses: number[];
      best: { epoch: number; loss: number } | null;
    };
    expectTypeOf<Checkpoint>().toExtend<Parameters<typeof library.save>[0]>();
    expectTypeOf<{ f: () => void }>().not.toExtend<Parameters<typeof library.save>[0]>();
  });

  it('wrong dtypes do not compile', () => {
    tidy(() => {
      const float = zeros([1]);
      // @ts-expect-error: another dtype.
      const int: Tensor<'int32'> = float;
      // @ts-expect-error: no such dtype.
      expect(() => zeros([1], { dtype: 'float33' })).toThrow();
      expect(int).toBe(float);
    });
  });
});

type IsAny<T> = 0 extends 1 & T ? true : false;

/** Where a function takes or answers what is not checked. */
type Unchecked<F> =
  IsAny<F> extends true
    ? 'value'
    : F extends (...args: infer A) => infer R
      ? IsAny<R> extends true
        ? 'result'
        : IsAny<A[number]> extends true
          ? 'argument'
          : never
      : never;

type UncheckedIn<M> = { [K in keyof M]: Unchecked<M[K]> extends never ? never : K }[keyof M];

it('no public signature has an any', () => {
  expectTypeOf<UncheckedIn<typeof library>>().toEqualTypeOf<never>();
  expectTypeOf<UncheckedIn<typeof library.nn>>().toEqualTypeOf<never>();
  expectTypeOf<UncheckedIn<typeof library.optim>>().toEqualTypeOf<never>();
  expectTypeOf<UncheckedIn<typeof library.data>>().toEqualTypeOf<never>();
  expectTypeOf<UncheckedIn<Tensor>>().toEqualTypeOf<never>();
  expectTypeOf<UncheckedIn<Tensor<'float32'>>>().toEqualTypeOf<never>();
  // It would find one.
  expectTypeOf<
    UncheckedIn<{ f: (x: unknown) => ReturnType<typeof JSON.parse> }>
  >().toEqualTypeOf<'f'>();
});
