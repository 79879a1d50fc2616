/**
 * Stands in for the push topic while there is no push certificate. A device enrolled with it can be
 * managed as long as it polls, but never pushed: no certificate can have this topic.
 */
export const PLACEHOLDER_TOPIC = 'com.apple.mgmt.External.00000000-0000-0000-0000-000000000000';
