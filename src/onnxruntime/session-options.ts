import { DeviceError } from '../../runtime/errors/errors.ts';
import type { OnnxGraph } from '../../runtime/onnx/format/proto.ts';
import { graphOf, valueInfo } from '../export/onnx/emit/graph.ts';
import { opset } from '../export/onnx/export-program.ts';
import { modelSchema } from '../onnx/schema.ts';
import { encodeMessage } from '../protobuf/message.ts';

/** Options of onnxruntime's sessions, such as `{ executionProviders: ['cuda', 'cpu'] }`. */
export type SessionOptions = Readonly<Record<string, unknown>>;

/** Serializes a model for onnxruntime. */
export const modelBytes = (graph: OnnxGraph): Uint8Array =>
  encodeMessage(modelSchema, {
    irVersion: 8,
    producerName: 'tostatic',
    opsetImport: [{ domain: '', version: opset }],
    graph,
    metadata: [],
    functions: [],
  });

/**
 * Returns a model that every session can open: if it fails, the session's options are invalid. Otherwise such options
 * would look like graphs that onnxruntime rejects, one after another.
 */
export function anyModel(): Uint8Array {
  const info = (name: string) => valueInfo(name, 'f32', [1], () => '');
  const node = {
    opType: 'Identity',
    name: 'Identity_0',
    input: ['x'],
    output: ['y'],
    attribute: [],
  };
  return modelBytes(graphOf('options', [node], [info('x')], [info('y')]));
}

export function rejected(engine: string, options: SessionOptions, cause: unknown): DeviceError {
  const { message } = cause as Error;
  return new DeviceError({
    what: `the backend '${engine}' opens no session with these options`,
    given: `${JSON.stringify(options)}: ${message}`,
    expected: 'options and execution providers that the installed package has',
    remedy: `change \`session\`, or install a package with this execution provider`,
    cause,
  });
}
