import '../../src/1-capture/inspector.ts';
import {
  type CapturedFunction,
  type CaptureRefusal,
  captureFunction,
  isRefusal,
  printRefusal,
} from '../../src/1-capture/capture.ts';
import type { AnyFunction } from '../../src/1-capture/script/captured-function.ts';
import type { CaptureOptions } from '../../src/1-capture/script/route.ts';

export function captured(fn: AnyFunction, options?: CaptureOptions): CapturedFunction {
  const result = captureFunction(fn, options);
  if (isRefusal(result)) throw new Error(`${result.reason}: ${printRefusal(result)}`);
  return result;
}

export function refused(fn: AnyFunction, options?: CaptureOptions): CaptureRefusal {
  const result = captureFunction(fn, options);
  if (!isRefusal(result)) throw new Error('expected a refusal');
  return result;
}
