// The only globals beyond ECMAScript that the deterministic packages (base, raft, protocol, engine)
// may use. tsconfig.pure.json checks them against this file instead of the types of Node.

interface TextEncoder {
  encode(input?: string): Uint8Array<ArrayBuffer>;
  encodeInto(source: string, destination: Uint8Array): { read: number; written: number };
}
declare const TextEncoder: { new (): TextEncoder };

interface TextDecoder {
  decode(input?: ArrayBuffer | ArrayBufferView): string;
}
declare const TextDecoder: {
  new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder;
};
