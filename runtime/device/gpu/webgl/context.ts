import { DeviceError } from '../../../errors/errors.ts';
import { softwareNames } from '../core/adapter.ts';

export interface GlContext {
  readonly gl: WebGL2RenderingContext;
  readonly canvas: OffscreenCanvas | HTMLCanvasElement;
  /** The renderer's own name: `ANGLE (…)`. */
  readonly adapter: string;
}

/** Whether a canvas can be created, as in pages and workers. */
function hasCanvas(): boolean {
  return typeof OffscreenCanvas !== 'undefined' || typeof document !== 'undefined';
}

/** Returns a context that can compute in float32, or null. */
function contextOrNull(): GlContext | null {
  if (!hasCanvas()) return null;
  const canvas = newCanvas();
  const options = { alpha: false, depth: false, antialias: false } as const;
  const gl = canvas.getContext('webgl2', {
    ...options,
    powerPreference: 'high-performance',
  }) as WebGL2RenderingContext | null;
  // Rendering to float32 textures is an extension that nearly every device has.
  if (!gl?.getExtension('EXT_color_buffer_float')) return null;
  return { gl, canvas, adapter: rendererName(gl) };
}

/** Whether WebGL2 is available to `openContext`. */
export function hasWebGl(): boolean {
  const context = contextOrNull();
  if (context) releaseContext(context.gl);
  return context !== null;
}

/** Throws DeviceError if there is no WebGL2, or only one that computes on the CPU. */
export function openContext(allowSoftware: boolean): GlContext {
  const context = contextOrNull();
  if (!context) throw noWebGl();
  if (!allowSoftware && softwareNames.test(context.adapter)) {
    releaseContext(context.gl);
    throw new DeviceError({
      what: 'gpu: WebGL2 computes on the CPU here',
      given: context.adapter,
      expected: 'a real GPU',
      remedy: "stay on the CPU device, which is faster, or init('gpu', { allowSoftware: true })",
    });
  }
  return context;
}

/** Releases a context, a scarce resource that browsers otherwise keep until its canvas is collected. */
export function releaseContext(gl: WebGL2RenderingContext): void {
  gl.getExtension('WEBGL_lose_context')?.loseContext();
}

function newCanvas(): OffscreenCanvas | HTMLCanvasElement {
  if (typeof OffscreenCanvas !== 'undefined') return new OffscreenCanvas(1, 1);
  const canvas = document.createElement('canvas');
  canvas.width = 1;
  canvas.height = 1;
  return canvas;
}

function rendererName(gl: WebGL2RenderingContext): string {
  const info = gl.getExtension('WEBGL_debug_renderer_info');
  return String(gl.getParameter(info?.UNMASKED_RENDERER_WEBGL ?? gl.RENDERER));
}

function noWebGl(): DeviceError {
  return new DeviceError({
    what: 'gpu: there is no WebGL2 that computes in float32',
    given: hasCanvas()
      ? 'no webgl2 context, or one without EXT_color_buffer_float'
      : 'a process without a canvas',
    expected: 'a page, or a worker of one, in a browser with WebGL2',
    remedy: 'stay on the CPU device; in Node, the package webgpu provides WebGPU',
  });
}
