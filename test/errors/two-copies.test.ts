import { expect, it } from 'vitest';
import { add, DeviceError, tensor } from '../../runtime/index.ts';

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
