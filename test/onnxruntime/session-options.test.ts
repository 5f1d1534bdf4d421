/** Options of sessions, execution providers among them, reach onnxruntime, and what it rejects is a named error. */

import { describe, expect, it } from 'vitest';
import { DeviceError, type Tensor, tensor, toStatic } from '../../src/index.ts';
import { backendOver } from '../../src/onnxruntime/backend.ts';
import { onnxruntimeBackend } from '../../src/onnxruntime/index.ts';
import type { OrtSession } from '../../src/onnxruntime/load-package.ts';
import type { SessionOptions } from '../../src/onnxruntime/session-options.ts';
import { type OnnxruntimeWeb, onnxruntimeWebBackend } from '../../src/onnxruntime/web.ts';
import { folder } from './engines.ts';
import { standIn } from './stand-in.ts';
import { standInFor } from './web-stand-in.ts';

const providers = ['cuda', 'tensorrt', 'dml', 'coreml', 'webgpu', 'qnn'];
const plus = (x: Tensor) => x.mul(2).add(1);

/** Records the options of sessions; those of execution providers other than the CPU fail to open. */
function recording(has: readonly string[]) {
  const opened: SessionOptions[] = [];
  class Session extends standIn.session {
    override loadModel(...[buffer, offset, length, options]: Parameters<OrtSession['loadModel']>) {
      const own = options as { executionProviders?: readonly string[] };
      const missing = own.executionProviders?.find((name) => !has.includes(name));
      if (missing) throw new Error(`no execution provider '${missing}'`);
      opened.push(own);
      super.loadModel(buffer, offset, length, options);
    }
  }
  return { opened, ort: { ...standIn, session: Session } };
}

describe('options of sessions', () => {
  it.each(providers)('are passed as they are: %s', (name) => {
    const { opened, ort } = recording([name, 'cpu']);
    const session = { executionProviders: [name, 'cpu'], intraOpNumThreads: 3 };
    const compiled = toStatic(plus, { backend: backendOver(() => ort, session), check: 0 });
    expect([...compiled(tensor([1, 2])).dataSync()]).toEqual([3, 5]);
    expect(opened.length).toBeGreaterThan(1);
    for (const options of opened) expect(options).toMatchObject(session);
  });

  it.each(providers)('that no session opens with are an error, and no kernels: %s', (name) => {
    const { opened, ort } = recording(['cpu']);
    const backend = backendOver(() => ort, { executionProviders: [name, 'cpu'] });
    const compiled = toStatic(plus, { backend, check: 0 });
    for (let i = 0; i < 2; i++) {
      expect(() => compiled(tensor([1]))).toThrow(DeviceError);
      expect(() => compiled(tensor([1]))).toThrow(`no execution provider '${name}'`);
    }
    expect(opened).toEqual([]);
    expect(backend.report()).toMatchObject({ programs: 0, byKernels: 0 });
  });

  it('that onnxruntime-web opens no session with reject the call', async () => {
    const ort = standInFor();
    const failing: OnnxruntimeWeb = {
      ...ort,
      InferenceSession: {
        create: async (model, options) => {
          if ('executionProviders' in options!) throw new Error('no available backend found');
          return await ort.InferenceSession.create(model, options);
        },
      },
    };
    const backend = onnxruntimeWebBackend(failing, { session: { executionProviders: ['webnn'] } });
    const compiled = toStatic(async (x: Tensor) => plus(x), { backend, check: 0 });
    for (let i = 0; i < 2; i++) {
      await expect(compiled(tensor([1]))).rejects.toThrow(DeviceError);
      await expect(compiled(tensor([1]))).rejects.toThrow('no available backend found');
    }
    expect(backend.report()).toMatchObject({ programs: 0, byKernels: 0 });
  });
});

/** Execution providers that the package doesn't have on this platform. */
const absent = { linux: ['dml', 'coreml'], darwin: ['cuda', 'dml'], win32: ['coreml', 'tensorrt'] };

describe.skipIf(!folder)('onnxruntime-node', () => {
  const names = absent[process.platform as keyof typeof absent] ?? [];
  it.each(names)('says itself that it has no %s', (name) => {
    const session = { executionProviders: [name, 'cpu'] };
    const compiled = toStatic(plus, { backend: onnxruntimeBackend({ folder: folder!, session }) });
    expect(() => compiled(tensor([1]))).toThrow(DeviceError);
    expect(() => compiled(tensor([1]))).toThrow(`executionProviders[0] is unsupported: '${name}'`);
  });

  it('says which option it does not know', () => {
    const session = { graphOptimizationLevel: 'most' };
    const compiled = toStatic(plus, { backend: onnxruntimeBackend({ folder: folder!, session }) });
    expect(() => compiled(tensor([1]))).toThrow("'graphOptimizationLevel' is not supported: most");
  });

  it('runs graphs with options that it has', () => {
    const session = { executionProviders: ['cpu'], graphOptimizationLevel: 'basic' };
    const backend = onnxruntimeBackend({ folder: folder!, session });
    const compiled = toStatic(plus, { backend, check: 0 });
    expect([...compiled(tensor([1, 2])).dataSync()]).toEqual([3, 5]);
    expect(backend.report()).toMatchObject({ graphs: 1, byKernels: 0 });
  });
});
