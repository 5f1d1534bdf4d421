import {
  type Rectangle,
  rectanglesOf,
  rowElements,
  type TextureHandle,
  textureSize,
} from './texture.ts';

/** A texture unit that no kernel uses: WebGL2 guarantees 16 per shader, and kernels have fewer operands. */
const ownUnit = 15;

/** Float32 textures of one context: creates, writes, reads and draws to them. */
export class Textures {
  readonly #gl: WebGL2RenderingContext;
  readonly #framebuffer: WebGLFramebuffer;
  /** Textures are read with one float per texel if the driver supports it, else four. */
  #channels: 1 | 4 | null = null;

  constructor(gl: WebGL2RenderingContext) {
    this.#gl = gl;
    this.#framebuffer = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#framebuffer);
    gl.enable(gl.SCISSOR_TEST);
  }

  /** Throws Error if out of memory. */
  make(elements: number): TextureHandle {
    const gl = this.#gl;
    const { width, height } = textureSize(elements);
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0 + ownUnit);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.R32F, width, height);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    const error = gl.getError();
    if (error !== gl.NO_ERROR) {
      gl.deleteTexture(texture);
      throw new Error(errorName(gl, error));
    }
    return { texture, width, height };
  }

  delete({ texture }: TextureHandle): void {
    this.#gl.deleteTexture(texture);
  }

  write({ texture }: TextureHandle, first: number, values: Float32Array): void {
    const gl = this.#gl;
    gl.activeTexture(gl.TEXTURE0 + ownUnit);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    let at = 0;
    for (const { x, y, width, height } of rectanglesOf(first, values.length)) {
      gl.texSubImage2D(gl.TEXTURE_2D, 0, x, y, width, height, gl.RED, gl.FLOAT, values, at);
      at += width * height;
    }
  }

  /** Runs the current program on elements `first` to `first + count`. */
  draw(target: TextureHandle, first: number, count: number): void {
    this.#attach(target);
    for (const rectangle of rectanglesOf(first, count)) this.#drawIn(rectangle);
  }

  /** Runs the current program on every element. */
  drawAll(target: TextureHandle): void {
    this.#attach(target);
    this.#drawIn({ x: 0, y: 0, width: target.width, height: target.height });
  }

  /** Reads elements `first` to `first + count`, after all previous work. */
  readSync(source: TextureHandle, first: number, count: number): Float32Array<ArrayBuffer> {
    const gl = this.#gl;
    const rows = rowsOf(source, first, count);
    const channels = this.#readFrom(source);
    const pixels = new Float32Array(rows.width * rows.height * channels);
    const { x, y, width, height } = rows;
    gl.readPixels(x, y, width, height, formatOf(gl, channels), gl.FLOAT, pixels);
    return elementsOf(pixels, channels, first - y * rowElements, count);
  }

  /** Reads elements asynchronously, unaffected by later writes. */
  async read(source: TextureHandle, first: number, count: number): Promise<Float32Array> {
    const gl = this.#gl;
    const { x, y, width, height } = rowsOf(source, first, count);
    const channels = this.#readFrom(source);
    const pixels = new Float32Array(width * height * channels);
    const staging = gl.createBuffer();
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, staging);
    gl.bufferData(gl.PIXEL_PACK_BUFFER, pixels.byteLength, gl.STREAM_READ);
    gl.readPixels(x, y, width, height, formatOf(gl, channels), gl.FLOAT, 0);
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
    try {
      await this.finished();
      gl.bindBuffer(gl.PIXEL_PACK_BUFFER, staging);
      gl.getBufferSubData(gl.PIXEL_PACK_BUFFER, 0, pixels);
      gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
    } finally {
      gl.deleteBuffer(staging);
    }
    const error = gl.getError();
    if (error !== gl.NO_ERROR) throw new Error(errorName(gl, error));
    return elementsOf(pixels, channels, first - y * rowElements, count);
  }

  /** Resolves when the GPU has finished all previously issued work. Rejects with Error if the context is lost. */
  async finished(): Promise<void> {
    const gl = this.#gl;
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    if (!fence) throw new Error('the WebGL context was lost');
    const { port1, port2 } = new MessageChannel();
    try {
      // Channel tasks are not delayed, unlike timers.
      while (gl.clientWaitSync(fence, 0, 0) === gl.TIMEOUT_EXPIRED) {
        await new Promise<void>((resolve) => {
          port1.onmessage = () => resolve();
          port2.postMessage(null);
        });
      }
      if (gl.isContextLost()) throw new Error('the WebGL context was lost');
    } finally {
      port1.close();
      gl.deleteSync(fence);
    }
  }

  destroy(): void {
    this.#gl.deleteFramebuffer(this.#framebuffer);
  }

  #attach({ texture, width, height }: TextureHandle): void {
    const gl = this.#gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.#framebuffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    gl.viewport(0, 0, width, height);
  }

  #drawIn({ x, y, width, height }: Rectangle): void {
    this.#gl.scissor(x, y, width, height);
    this.#gl.drawArrays(this.#gl.TRIANGLES, 0, 3);
  }

  #readFrom(source: TextureHandle): 1 | 4 {
    this.#attach(source);
    const gl = this.#gl;
    // Only known for an attached texture.
    this.#channels ??=
      gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_FORMAT) === gl.RED &&
      gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_TYPE) === gl.FLOAT
        ? 1
        : 4;
    return this.#channels;
  }
}

/** Returns the rows, or the part of a single row, that contain the elements. */
function rowsOf(source: TextureHandle, first: number, count: number): Rectangle {
  const y = Math.floor(first / rowElements);
  const end = Math.ceil((first + count) / rowElements);
  return { x: 0, y, width: source.width, height: end - y };
}

function formatOf(gl: WebGL2RenderingContext, channels: 1 | 4): GLenum {
  return channels === 1 ? gl.RED : gl.RGBA;
}

function elementsOf(
  pixels: Float32Array<ArrayBuffer>,
  channels: 1 | 4,
  first: number,
  count: number,
): Float32Array<ArrayBuffer> {
  if (channels === 1) return pixels.slice(first, first + count);
  return Float32Array.from({ length: count }, (_, i) => pixels[(first + i) * channels]!);
}

function errorName(gl: WebGL2RenderingContext, error: GLenum): string {
  if (error === gl.OUT_OF_MEMORY) return 'out of memory';
  if (error === gl.CONTEXT_LOST_WEBGL) return 'the WebGL context was lost';
  return `WebGL error 0x${error.toString(16)}`;
}
