import { expect, it } from 'vitest';
import { ArgumentError, add, DeviceError, optim, tensor } from '../../runtime/index.ts';

it('tensors of two devices of one name: the error says that there may be two copies of the package', () => {
  const [a, b] = [tensor([1, 2]), tensor([3, 4])];
  Object.defineProperty(b, 'device', { value: Object.create(b.device) });
  const mixed = () => add(a, b);
  expect(mixed).toThrow(DeviceError);
  expect(mixed).toThrow(
    /f32\[2\] on cpu, f32\[2\] on cpu[\s\S]*two copies of the package: npm ls tostatic/,
  );
  expect(() => add(a, tensor([1, 2]).to('meta'))).toThrow(/x\.to\('cpu'\)/);
});

it('an optimizer names the two copies when a tensor is of another one', () => {
  const weight = tensor([1, 2]).requiresGrad_();
  const { dtype, shape, isLeaf } = weight;
  class Tensor {
    constructor(
      readonly dtype: unknown,
      readonly shape: unknown,
      readonly isLeaf: boolean,
    ) {}
  }
  const make = () => new optim.SGD([new Tensor(dtype, shape, isLeaf) as never], { lr: 1 });
  expect(make).toThrow(ArgumentError);
  expect(make).toThrow(
    /parameter 0 is not a tensor of this copy of the package\n[\s\S]*npm ls tostatic/,
  );
});
