export * from "./errors.js";
export type { Access, TLSFiles } from "./http.js";
export * from "./layout.js";
export { Sequencer, type Create, type Options } from "./sequencer.js";
