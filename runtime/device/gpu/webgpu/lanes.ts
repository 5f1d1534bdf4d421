/** Constants by value, because WebGPU's globals don't exist everywhere. */
const usage = { mapRead: 1, copySource: 4, copyTarget: 8, storage: 128 } as const;
const mapModeRead = 1;

const threads = 256;

/** Counts threads that are not where `foldThreads` expects them: in consecutive lanes, at least this many. */
const probe = (lanes: number) => `enable subgroups;
@group(0) @binding(0) var<storage, read_write> strays : atomic<u32>;
@compute @workgroup_size(${threads})
fn main(@builtin(local_invocation_index) thread : u32, @builtin(subgroup_invocation_id) lane : u32,
        @builtin(subgroup_size) size : u32) {
  let first = thread & ~${lanes - 1}u;
  let found = subgroupShuffle(thread, lane & ~${lanes - 1}u);
  let isThere = found == first && size >= ${lanes}u && lane % ${lanes}u == thread % ${lanes}u;
  if (!isThere) { atomicAdd(&strays, 1u); }
}`;

/**
 * Returns how many adjacent threads are guaranteed to be adjacent in one subgroup: the adapter's smallest size if
 * a test kernel confirms it, because WebGPU doesn't guarantee it; otherwise 1.
 */
export async function lanesOf(device: GPUDevice, smallest: number | undefined): Promise<number> {
  const lanes = Math.min(smallest ?? 1, 64);
  if (!device.features.has('subgroups') || lanes < 4 || (lanes & (lanes - 1)) !== 0) return 1;
  const size = 4;
  const strays = device.createBuffer({ size, usage: usage.storage | usage.copySource });
  const staging = device.createBuffer({ size, usage: usage.mapRead | usage.copyTarget });
  try {
    const pipeline = await device.createComputePipelineAsync({
      layout: 'auto',
      compute: { module: device.createShaderModule({ code: probe(lanes) }), entryPoint: 'main' },
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const entries = [{ binding: 0, resource: { buffer: strays } }];
    const layout = pipeline.getBindGroupLayout(0);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    pass.dispatchWorkgroups(8);
    pass.end();
    encoder.copyBufferToBuffer(strays, 0, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(mapModeRead);
    return new Uint32Array(staging.getMappedRange())[0] === 0 ? lanes : 1;
  } finally {
    strays.destroy();
    staging.destroy();
  }
}
