// A collector of the tests' own: OTLP over gRPC, and the spans it was sent.
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from "@grpc/grpc-js";
import protobuf from "protobufjs/minimal.js";

/** A span as it arrived. */
export interface Arrived {
  traceId: string;
  spanId: string;
  parentId: string;
  name: string;
  kind: number;
  startMs: number;
  endMs: number;
  attributes: Map<string, string | number>;
  links: string[];
  isError: boolean;
}

/** A running one. */
export interface Collector {
  /** `127.0.0.1:port`. */
  readonly endpoint: string;
  readonly spans: Arrived[];
  readonly resource: Map<string, string | number>;
  /** Requests that are answered with this gRPC code; 0: they are taken. */
  code: number;
  /** Requests so far. */
  readonly asked: number;
  close(): void;
}

type Field = { readonly number: number; readonly value: Uint8Array | number };

/** Fields of a message. */
function fieldsOf(bytes: Uint8Array): Field[] {
  const reader = protobuf.Reader.create(bytes);
  const fields: Field[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const wire = tag & 7;
    fields.push({ number: tag >>> 3, value: readValue(reader, wire) });
  }
  return fields;
}

function readValue(reader: protobuf.Reader, wire: number): Field["value"] {
  if (wire === 2) return reader.bytes();
  if (wire === 5) return reader.fixed32();
  return Number(wire === 1 ? reader.fixed64() : reader.int64());
}

function messages(bytes: Uint8Array, number: number): Uint8Array[] {
  return fieldsOf(bytes).flatMap((field) => (field.number === number ? [field.value as Uint8Array] : []));
}

const hex = (bytes: Uint8Array | number): string => Buffer.from(bytes as Uint8Array).toString("hex");
const text = (bytes: Uint8Array | number): string => Buffer.from(bytes as Uint8Array).toString();

function attributeOf(bytes: Uint8Array): [string, string | number] {
  const [key, value] = fieldsOf(bytes);
  const [inner] = value === undefined ? [] : fieldsOf(value.value as Uint8Array);
  return [text(key?.value ?? 0), inner?.number === 1 ? text(inner.value) : (inner?.value as number)];
}

function spanOf(bytes: Uint8Array): Arrived {
  const span: Arrived = {
    ...{ traceId: "", spanId: "", parentId: "", name: "", kind: 0, startMs: 0, endMs: 0 },
    ...{ attributes: new Map(), links: [], isError: false },
  };
  for (const { number, value } of fieldsOf(bytes)) {
    if (number === 1) span.traceId = hex(value);
    else if (number === 2) span.spanId = hex(value);
    else if (number === 4) span.parentId = hex(value);
    else if (number === 5) span.name = text(value);
    else if (number === 6) span.kind = value as number;
    else if (number === 7) span.startMs = (value as number) / 1e6;
    else if (number === 8) span.endMs = (value as number) / 1e6;
    else if (number === 9) span.attributes.set(...attributeOf(value as Uint8Array));
    else if (number === 13) span.links.push(hex(fieldsOf(value as Uint8Array)[0]?.value ?? 0));
    else if (number === 15) span.isError = fieldsOf(value as Uint8Array)[0]?.value === 2;
  }
  return span;
}

/** Opens a collector. */
export async function openCollector(port = 0): Promise<Collector> {
  const server = new Server();
  const same = (bytes: Buffer): Buffer => bytes;
  const spans: Arrived[] = [];
  const resource = new Map<string, string | number>();
  let asked = 0;
  const service = {
    Export: {
      path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
      requestStream: false,
      responseStream: false,
      ...{ requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same },
    },
  } as const;
  server.addService(service, {
    Export: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
      asked += 1;
      if (collector.code !== 0) return done({ code: collector.code, details: "not now" });
      for (const resourceSpans of messages(call.request, 1)) {
        for (const one of messages(resourceSpans, 1))
          for (const attribute of messages(one, 1)) resource.set(...attributeOf(attribute));
        for (const scopeSpans of messages(resourceSpans, 2)) spans.push(...messages(scopeSpans, 2).map(spanOf));
      }
      done(null, Buffer.alloc(0));
    },
  });
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, at) =>
      error === null ? resolve(at) : reject(error),
    );
  });
  const collector: Collector = {
    endpoint: `127.0.0.1:${bound}`,
    spans,
    resource,
    code: 0,
    get asked() {
      return asked;
    },
    close: () => server.forceShutdown(),
  };
  return collector;
}
