/** What the API says for curl, in the words of the console. What is not listed here is shown as it is. */
const ADVICE: Readonly<Record<string, string>> = {
  topic_mismatch:
    'Upload the push certificate with that topic in the set-up. Without it enroll the device again: it then gets the topic of the certificate that is stored.',
  push_token_refused:
    'Send one more push: if APNs accepts it, the finding ends. If APNs refuses it again, the device must contact the server by itself, which renews its token, or enroll again.',
  push_failing:
    'Send a push and read the answer of APNs. TopicDisallowed and the reasons that name a certificate concern the push certificate: see Certificates in the settings. Other reasons are tried again by themselves; the finding ends with the first push that APNs accepts.',
  commands_failing:
    'Read the device’s errors below Commands, remove their cause and send the command again: the finding ends when the device acknowledges one, or 30 days after the last failure.',
  unenrolled:
    'Enroll the device again. If it is retired, an admin deletes its record, or it is left: nothing is wrong.',
  erased:
    'Setup Assistant enrolls it again if Automated Device Enrollment is set up for it; otherwise its user does. If it is retired, an admin deletes its record.',
};

const WARNINGS: Readonly<Record<string, string>> = {
  no_push_certificate:
    'There is no usable push certificate: commands are queued, but no device is notified of them. Upload one in the set-up.',
  enrollment_open:
    'Anyone who reaches this server can enroll a device. Choose who may enroll in the set-up.',
};

/** The advice of a finding. */
export function adviceOf({ code, advice }: { code: string; advice: string }): string {
  return ADVICE[code] ?? advice;
}

const STEP_ADVICE: [request: RegExp, own: string][] = [
  [/POST \/api\/v1\/devices\/\d+\/push\b/, '“Send a push”'],
  [/: GET \/api\/v1\/commands\/(\d+)\/timeline/, ': open command $1 in this list'],
  [
    /Upload the push certificate (.*?) by POST \/api\/v1\/push_certificates/,
    'Upload the push certificate $1 in the set-up',
  ],
];

/** The advice of a step in a command's timeline. */
export function stepAdvice(advice: string): string {
  return STEP_ADVICE.reduce((text, [request, own]) => text.replace(request, own), advice);
}

/** What a warning of the server says. */
export function warningOf({ code, detail }: { code: string; detail: string }): string {
  return WARNINGS[code] ?? detail;
}

const FAULTS: Readonly<Record<string, string>> = {
  'must not be null': 'Fill this in.',
  'A record with this name already exists': 'This name exists already. Choose another.',
};

/** A fault at its field, without the name of the attribute: "ttl must be at least 1". */
export function faultWords(field: string, detail: string): string {
  const isNamed = field !== '' && detail.startsWith(`${field} `);
  const rest = isNamed ? detail.slice(field.length + 1) : detail;
  return FAULTS[rest] ?? asSentence(rest.trim());
}

/** A text of the API, which begins in lower case and may have no full stop, as a sentence. */
export function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}
