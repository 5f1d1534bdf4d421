/** Shape → slice → crop: integers that JavaScript needs, computed where it can read them synchronously. */

import {
  type Device,
  deviceGuard,
  memory,
  ones,
  setDevice,
  type Tensor,
  tensor,
} from '../src/index.ts';
import { withSecondDevice } from './second-device.ts';

/** Crops the middle of an image, half as high and wide. Ops compute the sizes, as in a model's own code. */
async function crop(image: Tensor, guard: string | null): Promise<Tensor> {
  const sizes = deviceGuard(guard, () => {
    const shape = tensor(Int32Array.from(image.shape));
    return shape.narrow(0, 2, 2).div(2, { roundingMode: 'floor' });
  });
  // Reading from a GPU is asynchronous: until the data arrives, no further op can be issued.
  const read = sizes.device.kind === 'gpu' ? await sizes.data() : sizes.dataSync();
  const [height, width] = [Number(read[0]), Number(read[1])];
  return image.narrow(2, height >> 1, height).narrow(3, width >> 1, width);
}

async function run(device: Device, guard: string | null): Promise<void> {
  const image = ones([1, 3, 64, 48]);
  const copies = { 'to the device': 0, 'synchronous, from it': 0 };
  let shape = '';
  for (let i = 0; i < 10; i++) {
    const { result, events } = memory.record(() => crop(image, guard));
    for (const event of events) {
      if (event.kind !== 'copy') continue;
      if (event.to === device.name) copies['to the device']++;
      if (event.from === device.name) copies['synchronous, from it']++;
    }
    shape = (await result).shape.join('×');
  }
  image.dispose();
  const counts = Object.entries(copies).map(([what, count]) => `${count} copies ${what}`);
  console.log(`${guard ? `slice on ${guard}` : 'no guard'}: ${counts.join(', ')}; ${shape}`);
}

await withSecondDevice(async (device) => {
  setDevice(device);
  try {
    for (const guard of [null, 'cpu']) await run(device, guard);
  } finally {
    setDevice('cpu');
  }
});
