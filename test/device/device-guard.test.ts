import { afterEach, describe, expect, it } from 'vitest';
import {
  currentDevice,
  DeviceError,
  deviceGuard,
  init,
  setDevice,
  tensor,
  zeros,
} from '../../src/index.ts';

describe('device/device-guard', () => {
  afterEach(() => setDevice('cpu'));

  it('tensors are made on its device, and on the one before afterwards', () => {
    const inside = deviceGuard('meta', () => zeros([2]));
    const after = zeros([2]);
    expect([inside.device.name, after.device.name]).toEqual(['meta', 'cpu']);
    for (const t of [inside, after]) t.dispose();
  });

  it('guards nest, and are left by exceptions too', () => {
    const names: string[] = [];
    const note = () => names.push(currentDevice().name);
    deviceGuard('meta', () => {
      note();
      expect(() =>
        deviceGuard('cpu', () => {
          note();
          throw new RangeError('out');
        }),
      ).toThrow(RangeError);
      note();
    });
    note();
    expect(names).toEqual(['meta', 'cpu', 'meta', 'cpu']);
  });

  it('null is as if no guard were there', () => {
    setDevice('meta');
    const names = deviceGuard('cpu', () => [
      currentDevice().name,
      deviceGuard(null, () => currentDevice().name),
      deviceGuard(null, () =>
        deviceGuard('cpu', () => deviceGuard(null, () => currentDevice().name)),
      ),
    ]);
    expect(names).toEqual(['cpu', 'meta', 'meta']);
  });

  it('anything that is no device is refused, and the device stays', () => {
    const guard = deviceGuard as (device: unknown, body: () => void) => void;
    expect(() => guard('tpu', () => {})).toThrow(/given: {4}'tpu'[\s\S]*check the name/);
    expect(() => guard('gpu:3', () => {})).toThrow(/there is one GPU/);
    for (const wrong of [3, undefined, {}, true]) {
      expect(() => guard(wrong, () => {})).toThrow(DeviceError);
    }
    expect(() => (setDevice as (device: unknown) => void)(7)).toThrow(/given: {4}7/);
    const x = tensor([1]);
    expect(x.device.name).toBe('cpu');
    x.dispose();
  });
});

it('init names the devices that it can make ready', async () => {
  await expect(init('toaster')).rejects.toThrow(/'cpu', 'cpu:1', 'file', 'gpu', 'host', 'meta'/);
  expect((await init('meta')).name).toBe('meta');
});
