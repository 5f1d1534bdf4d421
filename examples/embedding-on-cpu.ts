/** A large embedding that stays on the CPU, trained with the rest of the model on another device. */

import {
  type Device,
  deviceGuard,
  memory,
  nn,
  optim,
  seed,
  type Tensor,
  tensor,
  tidy,
  toStatic,
} from '../src/index.ts';
import { withSecondDevice } from './second-device.ts';

/** The number of rows of the table, from the command line. */
const rows = Number(process.argv[2] ?? 200_000);
const [width, batch] = [16, 64];

/**
 * Returns the losses of several steps. The rows that a step looks up move to `device`, and their gradients move back.
 */
async function train(tablePlace: Device | string, device: Device): Promise<number[]> {
  seed(1);
  const table = deviceGuard(tablePlace, () => new nn.Embedding(rows, width));
  const rest = deviceGuard(device, () => {
    return new nn.Sequential(new nn.Linear(width, 32), new nn.Tanh(), new nn.Linear(32, 1));
  });
  const forward = toStatic(
    (indices: Tensor, targets: Tensor) => {
      const found = deviceGuard(tablePlace, () => table.forward(indices));
      return deviceGuard(device, () => rest.forward(found).sub(targets).square().mean());
    },
    { fullGraph: true },
  );
  const parameters = [...table.parameters(), ...rest.parameters()];
  const optimizer = new optim.SGD(parameters, { lr: 0.1 });
  const losses: number[] = [];
  for (let step = 0; step < 5; step++) {
    const own = Int32Array.from({ length: batch }, (_, i) => (i * 2099 + step) % rows);
    const indices = deviceGuard(tablePlace, () => tensor(own));
    const targets = deviceGuard(device, () =>
      tensor(
        Float32Array.from(own, (row) => Math.sin(row)),
        { shape: [batch, 1] },
      ),
    );
    const loss = forward(indices, targets);
    await loss.backwardAsync();
    tidy(() => {
      optimizer.step();
      optimizer.zeroGrad();
    });
    losses.push(await loss.item());
    for (const each of [indices, targets, loss]) each.dispose();
  }
  for (const parameter of parameters) parameter.dispose();
  return losses;
}

await withSecondDevice(async (device) => {
  const places = ['cpu', device.name];
  for (const place of [device, 'cpu']) {
    const before = places.map((name) => memory.stats(name).allocated);
    for (const name of places) memory.reset(name);
    const losses = await train(place, device);
    const bytes = places.map((name, i) => {
      return `${memory.stats(name).peakAllocated - before[i]!} bytes on ${name}`;
    });
    const what = place === 'cpu' ? 'the table on cpu' : `everything on ${device.name}`;
    console.log(`${what}: ${bytes.join(', ')}; losses ${losses.join(' ')}`);
  }
});
