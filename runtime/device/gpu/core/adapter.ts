import { DeviceError } from '../../../errors/errors.ts';

/** The environment variable that allows software adapters. */
const softwareVariable = 'TOSTATIC_GPU_SOFTWARE';

/** Returns an adapter's description of itself, in one line. */
export function adapterName(info: GPUAdapterInfo): string {
  const facts = [info.vendor, info.architecture, info.description || info.device];
  return facts.filter((fact) => fact !== '').join('/') || 'unnamed adapter';
}

export const softwareNames =
  /swiftshader|llvmpipe|lavapipe|softpipe|mesa\/software|basic render|\bwarp\b/i;

/** Whether the adapter computes on the CPU: correct, but far slower than our own CPU kernels. */
export function isSoftwareAdapter(info: GPUAdapterInfo): boolean {
  return info.isFallbackAdapter === true || softwareNames.test(adapterName(info));
}

/** Whether the environment allows software adapters; pages have no environment. */
export function isSoftwareAllowed(): boolean {
  return typeof process !== 'undefined' && process.env[softwareVariable] === '1';
}

export function rejectSoftware(info: GPUAdapterInfo, allowed: boolean): void {
  if (allowed || !isSoftwareAdapter(info)) return;
  throw new DeviceError({
    what: 'gpu: the only adapter computes on the CPU',
    given: adapterName(info),
    expected: 'an adapter of a real GPU',
    remedy: `stay on the CPU device, which is faster, or set ${softwareVariable}=1 for tests`,
  });
}
