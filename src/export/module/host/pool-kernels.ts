import { viewOf } from '../../../../runtime/device/cpu/core/host-kernels.ts';
import { pairAttr } from '../../../../runtime/device/cpu/core/kernel.ts';
import { equalParts, sliding, type Windows } from '../../../../runtime/device/cpu/scalar/pool.ts';
import type { KernelName } from '../../../../runtime/device/kernel-names.ts';
import type { Attrs } from '../../../../runtime/device/kernel-op.ts';
import type { HostArgument } from '../actions/actions.ts';
import { type HostFactory, placesOf } from './host-factory.ts';

type WindowsAlong = (size: number, count: number, attrs: Attrs, dim: number) => Windows;

/** The windows' origins, as the method expects them: uint8 positions are counted from there. */
function originOf(isCoded: boolean, width: number, attrs: Attrs): number[] {
  if (!isCoded) return [0, 0, 0];
  const [padding, stride] = [pairAttr(attrs, 'padding'), pairAttr(attrs, 'stride')];
  return [-padding[0] * width - padding[1], stride[0] * width, stride[1]];
}

const maxPool =
  (along: WindowsAlong, isCoded = false): HostFactory =>
  (log, [x], [out, places], attrs) => {
    const [batch, channels, height, width] = x!.shape as [number, number, number, number];
    const rows = along(height, out!.shape[2]!, attrs, 0);
    const columns = along(width, out!.shape[3]!, attrs, 1);
    const args: HostArgument[] = [
      [batch * channels, height, width],
      [rows.starts, rows.ends, columns.starts, columns.ends],
      [rows.step, columns.step],
      originOf(isCoded, width, attrs),
    ];
    return ([source], targets) => {
      const at = placesOf([source!, ...targets], [x!, out!, places!]);
      log.host('maxPool', [viewOf[x!.dtype], viewOf[places!.dtype], at, ...args]);
    };
  };

const maxPoolGrad =
  (isCoded: boolean): HostFactory =>
  (log, [dy, places, x], [dx], attrs) => {
    const [batch, channels, height, width] = x!.shape as [number, number, number, number];
    const sizes = [batch * channels, height * width, dy!.shape[2]!, dy!.shape[3]!];
    const origin = originOf(isCoded, width, attrs);
    return ([grad, indices], [target]) => {
      const at = placesOf([grad!, indices!, target!], [dy!, places!, dx!]);
      log.host('maxPoolGrad', [viewOf[dx!.dtype], viewOf[places!.dtype], at, sizes, origin]);
    };
  };

export const poolKernels: { readonly [N in KernelName]?: HostFactory } = {
  maxPool2d: maxPool(sliding),
  maxPool2dCoded: maxPool(sliding, true),
  adaptiveMaxPool2d: maxPool(equalParts),
  maxPool2dGrad: maxPoolGrad(false),
  maxPool2dCodedGrad: maxPoolGrad(true),
};
