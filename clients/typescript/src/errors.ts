/** An error of this library, or of a member. */
export class SnowgridError extends Error {
  /**
   * @param code the member's code as in the HTTP reference, "" for a request without a reply, or
   *   "exhausted", "ended", "deadline", "layout" and "invalid_option" of this library
   * @param retryAfter milliseconds after which the same request may succeed, 0 if none are stated
   */
  constructor(
    readonly code: string,
    message: string,
    readonly retryAfter = 0,
  ) {
    super(message);
    this.name = new.target.name;
  }
}

/** The sequencer was destroyed. The client makes no ID any more. */
export class DestroyedError extends SnowgridError {
  constructor(message = "the sequencer was destroyed; a new client may create the name again") {
    super("destroyed", `snowgrid: ${message}`);
  }
}

/** The layout of the sequencer has no timestamps left. */
export class ExhaustedError extends SnowgridError {
  constructor() {
    super("exhausted", "snowgrid: no timestamps are left; use a sequencer with a later epoch");
  }
}

/** The client was closed. */
export class EndedError extends SnowgridError {
  constructor() {
    super("ended", "snowgrid: the client was closed; make a new one");
  }
}

/** No ID could be made in time. */
export class DeadlineError extends SnowgridError {
  constructor(message: string) {
    super("deadline", `snowgrid: ${message}`);
  }
}
