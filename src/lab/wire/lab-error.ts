/** Why a simulated device could not continue; the message is for the person who runs it. */
export class LabError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LabError';
  }
}

/** The server answered that the device is no longer enrolled; it stops for good. */
export class UnenrolledError extends LabError {}

/** The server refused a device message but did not unenroll the device. */
export class RefusedError extends LabError {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}
