import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { isSoftwareAdapter } from '../../runtime/device/gpu/core/adapter.ts';
import { provideWebGpu } from '../../runtime/device/gpu/core/node-webgpu.ts';
import { withSources } from '../source-process.ts';
import { skipGpu, useSoftwareAdapter } from './open-gpu.ts';

const init = new URL('../../runtime/device/gpu/init.ts', import.meta.url).href;

interface Ended {
  readonly code: number;
  readonly output: string;
  /** Drivers write here as well. */
  readonly errors: string;
}

/**
 * glibc's words when it aborts a process because of a lock that no longer exists. Seen in one of some thousand processes
 * with SwiftShader, whose threads live no longer than a device.
 */
const driverRace = 'The futex facility returned an unexpected error code.';

/** Runs a module in a process of its own, with initGpu and destroyGpu in scope; again if the driver's threads raced. */
async function runProcess(body: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const ended = await runOnce(body, env);
  return ended.errors.includes(driverRace) ? runOnce(body, env) : ended;
}

function runOnce(body: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const source = `import { initGpu, destroyGpu } from '${init}';\n${body}`;
  const args = [...withSources, '--input-type=module', '--eval', source];
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, timeout: 30_000 };
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? -1) : 0, output: stdout, errors: stderr });
    });
  });
}

const tellError = `await initGpu().then(() => console.log('opened'), (e) => console.log(e.name, e.message));`;

describe.skipIf(skipGpu)('gpu/process', () => {
  useSoftwareAdapter();

  it('ends after destroyGpu, and the GPU can be opened again before', async () => {
    const { code, output, errors } = await runProcess(
      `const first = await initGpu();
       console.log(first === await initGpu());
       await destroyGpu();
       const second = await initGpu();
       console.log(first !== second, second.name);
       await destroyGpu();
       await destroyGpu();`,
      {},
    );
    expect(output, errors).toBe('true\ntrue gpu\n');
    expect(code).toBe(0);
  });

  it('finishes the reads under way before the GPU is given back', async () => {
    const { output, errors } = await runProcess(
      `const device = await initGpu();
       const ptr = device.allocator.alloc(4);
       const meta = { dtype: 'float32', shape: [1], strides: [1], offset: 0, device };
       const place = { holder: { ptr }, offset: 0 };
       device.upload(new Float32Array([5]), meta, place);
       device.download(meta, place).then((data) => console.log(data[0]));
       await destroyGpu();`,
      {},
    );
    expect(output, errors).toBe('5\n');
  });

  it('refuses an adapter that computes on the CPU', async () => {
    const { output } = await runProcess(tellError, { TOSTATIC_GPU_SOFTWARE: '' });
    expect(output).toMatch(/^DeviceError gpu: the only adapter computes on the CPU/);
    expect(output).toContain('TOSTATIC_GPU_SOFTWARE=1');
  });

  it('says what is missing when no adapter found', async () => {
    const { output } = await runProcess(tellError, { VK_ICD_FILENAMES: '/nonexistent.json' });
    expect(output).toMatch(/^DeviceError gpu: no adapter found/m);
  });

  it('a tensor of a destroyed GPU says so when it is used', async () => {
    const { output, errors } = await runProcess(
      `const device = await initGpu();
       const ptr = device.allocator.alloc(4);
       await destroyGpu();
       const meta = { dtype: 'float32', shape: [1], strides: [1], offset: 0, device };
       await device.download(meta, { holder: { ptr }, offset: 0 }).catch((e) => console.log(e.message));
       device.allocator.free(ptr, 4);`,
      {},
    );
    expect(output, errors).toMatch(/^data: the GPU was shut down/);
  });

  it('memory of a workgroup takes a software adapter no time to compile', async () => {
    const { output, errors } = await runProcess(
      `await initGpu();
       const device = await (await navigator.gpu.requestAdapter()).requestDevice();
       const compiled = async (words) => {
         const code = \`var<workgroup> cells: array<u32, \${words}>;
           @group(0) @binding(0) var<storage, read_write> found: array<u32>;
           @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
             found[i] = cells[found[i + 64] % \${words}];
           }\`;
         const before = process.cpuUsage();
         const compute = { module: device.createShaderModule({ code }), entryPoint: 'main' };
         await device.createComputePipelineAsync({ layout: 'auto', compute });
         return process.cpuUsage(before).user;
       };
       await compiled(15);
       const small = await compiled(16);
       const large = await compiled(4096);
       console.log(large < 20 * small || \`\${small} and \${large} microseconds\`);
       await destroyGpu();`,
      {},
    );
    expect(output, errors).toBe('true\n');
  });
});

describe('gpu/adapter', () => {
  it('without the package webgpu, says what to install', async () => {
    const missing = provideWebGpu({ allowSoftware: false, packageName: 'no-such-package' });
    await expect(missing).rejects.toThrow(/npm install webgpu@0\.6\.2/);
  });

  it('how the memory of workgroups is zeroed is chosen for software adapters alone', async () => {
    const packageName = `data:text/javascript,${encodeURIComponent(
      'export const globals = {}; export const create = (options) => ({ options });',
    )}`;
    const options = async (allowSoftware: boolean) => {
      const rollBack = await provideWebGpu({ allowSoftware, packageName });
      const { gpu } = navigator as unknown as { readonly gpu: { readonly options: unknown } };
      rollBack();
      return gpu.options;
    };
    const times = 'disable-dawn-features=timestamp_quantization';
    expect(await options(false)).toEqual([times]);
    expect(await options(true)).toEqual([
      `${times},use_vulkan_zero_initialize_workgroup_memory_extension`,
    ]);
  });

  it('knows software adapters by their names', () => {
    const info = (vendor: string, description: string, isFallbackAdapter = false) =>
      ({ vendor, architecture: '', device: '', description, isFallbackAdapter }) as GPUAdapterInfo;
    expect(isSoftwareAdapter(info('google', 'SwiftShader driver 5.0.0'))).toBe(true);
    expect(isSoftwareAdapter(info('mesa', 'llvmpipe (LLVM 15.0.6)'))).toBe(true);
    expect(isSoftwareAdapter(info('microsoft', 'Microsoft Basic Render Driver'))).toBe(true);
    expect(isSoftwareAdapter(info('any', 'thing', true))).toBe(true);
    expect(isSoftwareAdapter(info('nvidia', 'NVIDIA H200: 550.54.15'))).toBe(false);
    expect(isSoftwareAdapter(info('apple', 'Apple M1 Max'))).toBe(false);
  });
});
