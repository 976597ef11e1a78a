// Frames of HTTP/2 (RFC 9113, section 4.1): how they begin, and those a client sends.
//
//   length (3) │ type (1) │ flags (1) │ stream (4) │ payload

export const frameTypes = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Of DATA and HEADERS: the stream ends; of SETTINGS and PING: it is an answer. */
export const flagEnd = 0x01;
export const flagAck = 0x01;
/** Of HEADERS and CONTINUATION: the block ends. */
export const flagBlockEnd = 0x04;
export const flagPadded = 0x08;
export const flagPriority = 0x20;

/** Codes of RST_STREAM and GOAWAY that are told apart here. */
export const errorCodes = {
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
};

export const settingIds = { headerTableSize: 1, enablePush: 2, streamsMax: 3, initialWindow: 4, frameBytesMax: 5 };

export const headBytes = 9;
/** Largest payload of a frame, unless its receiver allows more. */
export const frameBytesMax = 16_384;
/** Bytes that may be sent before more are allowed, of a stream and of the connection. */
export const defaultWindow = 65_535;
export const windowMax = 2 ** 31 - 1;

/** What a client sends first. */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** Writes the head of a frame at `at`. */
export function writeHead(
  target: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  stream: number,
): void {
  target.writeUIntBE(length, at, 3);
  target[at + 3] = type;
  target[at + 4] = flags;
  target.writeUInt32BE(stream, at + 5);
}

/** A whole frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const made = Buffer.allocUnsafe(headBytes + payload.length);
  writeHead(made, 0, payload.length, type, flags, stream);
  made.set(payload, headBytes);
  return made;
}

/** A frame whose payload is one number of four bytes: RST_STREAM, WINDOW_UPDATE. */
export function numberFrame(type: number, stream: number, value: number): Buffer {
  const payload = Buffer.allocUnsafe(4);
  payload.writeUInt32BE(value);
  return frame(type, 0, stream, payload);
}

/** SETTINGS. */
export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(6 * settings.length);
  for (const [index, [id, value]] of settings.entries()) {
    payload.writeUInt16BE(id, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  }
  return frame(frameTypes.settings, 0, 0, payload);
}

/** GOAWAY of a client, which has taken no streams of the server. */
export function goAwayFrame(code: number): Buffer {
  const payload = Buffer.alloc(8);
  payload.writeUInt32BE(code, 4);
  return frame(frameTypes.goAway, 0, 0, payload);
}
