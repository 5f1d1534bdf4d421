import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DeviceError } from '../../runtime/errors/errors.ts';
import type { TensorClass } from './arrays.ts';
import type { OrtTensors } from './graph-program.ts';

/** The synchronous session of the package's own addon, whose public API is asynchronous. */
export interface OrtSession {
  loadModel(buffer: ArrayBufferLike, offset: number, length: number, options: object): void;
  /**
   * Returns results by the names in `fetches`, in new arrays: the addon copies results there even if arrays are passed
   * to it. Later versions of the addon return a promise.
   */
  run(
    feeds: OrtTensors,
    fetches: Readonly<Record<string, null>>,
    options: object,
  ): OrtTensors | Promise<unknown>;
  dispose(): void;
}

export interface OrtPackage {
  readonly session: new () => OrtSession;
  readonly tensor: TensorClass;
}

interface Binding {
  readonly binding: { readonly InferenceSession: OrtPackage['session'] };
  readonly initOrt: () => void;
}

/**
 * Loads onnxruntime-node, resolved from this package and then from `folder`. Throws DeviceError with the install
 * command if it is missing or has no build for this machine.
 */
export function loadPackage(folder: string): OrtPackage {
  let cause: unknown;
  for (const base of [join(folder, 'package.json'), import.meta.url]) {
    const require = createRequire(base);
    try {
      const { binding, initOrt } = require('onnxruntime-node/dist/binding.js') as Binding;
      const path = require.resolve('onnxruntime-node/dist/binding.js');
      const { Tensor } = createRequire(path)('onnxruntime-common') as {
        Tensor: OrtPackage['tensor'];
      };
      initOrt();
      return { session: binding.InferenceSession, tensor: Tensor };
    } catch (error) {
      cause ??= error;
    }
  }
  throw new DeviceError({
    what: "the backend 'onnxruntime' needs the package onnxruntime-node",
    given: (cause as Error).message.split('\n')[0]!,
    expected: `onnxruntime-node, which can be imported from ${folder}`,
    remedy: 'npm install onnxruntime-node, or leave out `backend` for the kernels of tostatic',
    cause,
  });
}
