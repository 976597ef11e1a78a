// Calls of gRPC with bytes both ways: whoever asks encodes and decodes the messages.
import { type Client, Metadata, type ServiceError } from "@grpc/grpc-js";

const same = (bytes: Buffer): Buffer => bytes;

/** Asks a method, `/service/method`; the answer's bytes. Rejects with ServiceError. */
export function askUnary(client: Client, method: string, request: Buffer, timeoutMs: number): Promise<Buffer> {
  const deadline = Date.now() + timeoutMs;
  return new Promise((resolve, reject) => {
    const done = (error: ServiceError | null, answer?: Buffer): void => {
      if (error === null) resolve(answer ?? Buffer.alloc(0));
      else reject(error);
    };
    client.makeUnaryRequest(method, same, same, request, new Metadata(), { deadline }, done);
  });
}
