/** Runs in a page without WebGPU; posts what it found to the server. */

import type { GpuDevice } from '../../../../runtime/device/gpu/gpu-device.ts';
import { destroyGpu } from '../../../../runtime/device/gpu/init.ts';
import {
  type Device,
  deviceGuard,
  deviceNamed,
  init,
  ones,
  type Tensor,
  tidy,
  zeros,
} from '../../../../runtime/index.ts';
import { cases } from './cases.ts';
import { train } from './models.ts';
import { smallModels } from './small-models.ts';

const made = new Set<WebGLTexture>();
/** Where the last texture was made. */
let context: WebGL2RenderingContext | null = null;
const prototype = WebGL2RenderingContext.prototype;
const { createTexture, deleteTexture } = prototype;
prototype.createTexture = function () {
  const texture = createTexture.call(this);
  context = this;
  made.add(texture);
  return texture;
};
prototype.deleteTexture = function (texture) {
  if (texture) made.delete(texture);
  deleteTexture.call(this, texture);
};

async function dataOf(device: Device, body: () => Tensor) {
  const result = deviceGuard(device, () => tidy(body));
  const data = await result.data();
  const description = `${result.dtype} ${result.shape.join('x')}`;
  result.dispose();
  return { description, data: [...data] };
}

/** Empty when they agree: NaN with NaN, infinities with themselves, numbers within the limits of docs/gpu.md. */
async function difference(gpu: Device, body: () => Tensor): Promise<string> {
  const expected = await dataOf(deviceNamed('cpu'), body);
  const actual = await dataOf(gpu, body);
  if (actual.description !== expected.description) {
    return `${actual.description} for ${expected.description}`;
  }
  const differs = (a: number, e: number) =>
    !(Object.is(a, e) || a === e || Math.abs(a - e) <= 2e-6 + 2e-5 * Math.abs(e));
  const at = expected.data.findIndex((e, i) => differs(actual.data[i]!, e));
  return at < 0 ? '' : `element ${at}: ${actual.data[at]} for ${expected.data[at]}`;
}

async function refusal(body: () => unknown): Promise<string> {
  try {
    await body();
    return 'nothing';
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message.split('\n')[0]}` : 'no error';
  }
}

/** Throws what a write throws for which no texture can be made, and Error if it has written something. */
async function withoutMemory(gpu: Device): Promise<void> {
  const x = deviceGuard(gpu, () => zeros([3000]));
  const { getError } = prototype;
  prototype.getError = () => WebGL2RenderingContext.OUT_OF_MEMORY;
  let refused: unknown;
  try {
    x.add_(1);
  } catch (error) {
    refused = error;
  } finally {
    prototype.getError = getError;
  }
  const [before] = await x.data();
  x.add_(2);
  const [after] = await x.data();
  x.dispose();
  if (before !== 0 || after !== 2) throw new Error(`${before} and ${after} for 0 and 2`);
  throw refused;
}

/** The data of a tensor on a device that is opened after the last one's context was lost. */
async function lossOfContext(refusals: Record<string, string>): Promise<number[]> {
  const lost = await init('gpu', { allowSoftware: true });
  const x = deviceGuard(lost, () => ones([3]));
  context!.getExtension('WEBGL_lose_context')!.loseContext();
  refusals['the promise of its loss'] = await lost.lost!;
  refusals['a read after the loss of the context'] = await refusal(() => x.data());
  refusals['an op after it'] = await refusal(() => x.add(1));
  refusals['a tensor after it'] = await refusal(() => deviceGuard(lost, () => zeros([2])));
  const other = await init('gpu', { allowSoftware: true });
  const y = deviceGuard(other, () => tidy(() => ones([3]).add(1)));
  const data = [...(await y.data())];
  y.dispose();
  await destroyGpu();
  return data;
}

async function report() {
  Object.defineProperty(navigator, 'gpu', { value: undefined, configurable: true });
  const refusals: Record<string, string> = {
    'software renderer': await refusal(() => init('gpu')),
    'kernels in WGSL': await refusal(() =>
      init('gpu', { api: 'webgl2', kernels: 'all', allowSoftware: true }),
    ),
  };
  const gpu = (await init('gpu', { allowSoftware: true })) as GpuDevice;
  refusals['another API beside it'] = await refusal(() => init('gpu', { api: 'webgpu' }));
  const differences: Record<string, string> = {};
  for (const [name, body] of Object.entries(cases)) {
    const found = await difference(gpu, body).catch((error: unknown) => String(error));
    if (found !== '') differences[name] = found;
  }
  const trainings: Record<string, object> = {};
  for (const name of Object.keys(smallModels) as (keyof typeof smallModels)[]) {
    trainings[name] = {
      cpu: await train(deviceNamed('cpu'), name, false, 6),
      eager: await train(gpu, name, false, 6, () => made.size),
      captured: await train(gpu, name, true, name === 'MLP' ? 100 : 6, () => made.size),
    };
  }
  const on = (body: () => unknown) =>
    refusal(() => deviceGuard(gpu, () => tidy(() => void body())));
  refusals['a tensor of too many elements'] = await on(() => zeros([2 ** 24 + 1]));
  refusals['half precision'] = await on(() => zeros([2], { dtype: 'float16' }));
  refusals['a read at once'] = await on(() => zeros([2]).dataSync());
  refusals['a write in place without memory for it'] = await refusal(() => withoutMemory(gpu));
  const { api, adapter, kernelStats } = gpu;
  const { counter } = gpu.allocator;
  const before = { allocated: counter.allocated, computedOnCpu: [...gpu.computedOnCpu.keys()] };
  await destroyGpu();
  refusals['a tensor after shutdown'] = await on(() => zeros([2]));
  const after = { reserved: counter.reserved, textures: made.size };
  const afterLoss = await lossOfContext(refusals);
  return { afterLoss, api, adapter, kernelStats, before, after, differences, trainings, refusals };
}

await fetch('/result', { method: 'POST', body: JSON.stringify(await report()) });
