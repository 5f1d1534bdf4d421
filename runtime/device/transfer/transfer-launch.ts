import { traceStream } from '../../trace-log/stream.ts';
import type { Launch } from '../device.ts';
import { downloaded } from '../downloads.ts';
import type { TensorMeta } from '../tensor-meta.ts';

/**
 * Copies a tensor to another device synchronously. Throws DeviceError if its device can only be read asynchronously,
 * unless the data was downloaded before. A counting device receives nothing.
 */
export function transferLaunch(from: TensorMeta, to: TensorMeta): Launch {
  const isPlaced = to.device.kind !== 'meta';
  return ([source], [target]) => {
    if (traceStream.active) traceStream.transform('to', from, to);
    if (!isPlaced) return;
    const data = downloaded(source!) ?? from.device.downloadSync(from, source!, 'to');
    to.device.upload(data, to, target!);
  };
}
