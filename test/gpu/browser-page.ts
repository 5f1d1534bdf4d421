/** Runs in a page: what the browser's test bundles and opens. Posts its result to the server. */
import '../../runtime/device/cpu/cpu-device.ts';
import '../../runtime/tensor-methods/methods.ts';
import { deviceGuard } from '../../runtime/device/current.ts';
import { destroyGpu, initGpu } from '../../runtime/device/gpu/init.ts';
import { tensor } from '../../runtime/ops/core/create.ts';

async function compute() {
  const gpu = await initGpu({ allowSoftware: true });
  const x = deviceGuard(gpu, () =>
    tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]),
  );
  const y = x.mul(2).add(x).matmul(x.transpose(0, 1));
  x.narrow(1, 1, 2).add_(10);
  const [product, changed] = await Promise.all([y.data(), x.data()]);
  await destroyGpu();
  return { product: [...product], changed: [...changed] };
}

await fetch('/result', { method: 'POST', body: JSON.stringify(await compute()) });
