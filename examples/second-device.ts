import { type Device, init, shutdown } from '../src/index.ts';

/** Runs `body` with the GPU or, without one, with a second device computed by the CPU. */
export async function withSecondDevice(body: (device: Device) => Promise<void>): Promise<void> {
  const device = await init('gpu').catch(() => init('cpu:1'));
  try {
    await body(device);
  } finally {
    await shutdown('gpu');
  }
}
