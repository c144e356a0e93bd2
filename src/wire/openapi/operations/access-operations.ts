import { openIdRequest } from '../../access/openid-requests.ts';
import { secretRequest, tokenRequest } from '../../access/token-requests.ts';
import { invitationRequest, joinRequest } from '../../join/join-requests.ts';
import type { Operation } from './operation.ts';
import { text, count, NAMESPACE, ok, BAD, UNSURE } from './operation.ts';

/** Of people, machines that join, and what is recorded of them. */
export const ACCESS_OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /v1/whoami': { summary: 'Tells who the caller is to the cell', answers: ok('WhoAmI') },
  'GET /v1/tokens': {
    summary: 'Lists tokens, without what it takes to use them',
    answers: ok('TokenListAnswer'),
  },
  'POST /v1/tokens': {
    summary: 'Makes a token; no other answer shows it',
    body: tokenRequest,
    example: { name: 'bob', scope: 'submit', namespaces: ['team-a'], ttlMs: 86_400_000 },
    answers: [{ status: 201, of: 'NewToken' }],
    errors: { ...BAD, 409: ['too-many-tokens'], ...UNSURE },
  },
  'DELETE /v1/tokens/:id': {
    summary: 'Revokes a token',
    answers: [{ status: 204, type: null, of: 'it counts no more' }],
    errors: { ...BAD, 404: ['no-such-token'], ...UNSURE },
  },
  'GET /v1/openid': {
    summary: 'Lists the OpenID providers whose tokens count, and what this monitor knows of their keys',
    answers: ok('OpenIdListAnswer'),
  },
  'PUT /v1/openid/:name': {
    summary: 'Lets the tokens of an OpenID provider count',
    body: openIdRequest,
    example: {
      ...{ issuer: 'https://login.example.org', audience: 'moorage', namespacesClaim: 'groups' },
      scopeClaim: 'moorage_scope',
    },
    answers: ok('OpenIdStatus'),
    errors: { ...BAD, 409: ['too-many-providers'], ...UNSURE },
  },
  'DELETE /v1/openid/:name': {
    summary: 'Lets them count no more',
    answers: [{ status: 204, type: null, of: 'they count no more' }],
    errors: { ...BAD, 404: ['no-such-provider'], ...UNSURE },
  },
  'GET /v1/secrets': {
    summary: 'Lists secrets, without what is sealed',
    query: [NAMESPACE],
    answers: ok('SecretListAnswer'),
    errors: BAD,
  },
  'GET /v1/secrets-key': {
    summary: 'The key of the hosts, to which secrets are sealed',
    answers: ok('HostKeyAnswer'),
    errors: { 404: ['no-host-key'] },
  },
  'PUT /v1/secrets/:namespace/:name': {
    summary: 'Sets a secret, which comes sealed',
    body: secretRequest,
    answers: [{ status: 204, type: null, of: 'it is set' }],
    errors: { ...BAD, 403: ['other-namespace'], 409: ['too-many-secrets'], ...UNSURE },
  },
  'DELETE /v1/secrets/:namespace/:name': {
    summary: 'Deletes a secret',
    answers: [{ status: 204, type: null, of: 'it is gone' }],
    errors: { ...BAD, 403: ['other-namespace'], 404: ['no-such-secret'], ...UNSURE },
  },
  'GET /v1/invitations': {
    summary: 'Lists invitations, without what it takes to use them',
    answers: ok('InvitationListAnswer'),
  },
  'DELETE /v1/invitations/:id': {
    summary: 'Takes an invitation back',
    answers: [{ status: 204, type: null, of: 'it lets nobody in any more' }],
    errors: { ...BAD, 404: ['no-such-invitation'], 409: ['invitation-used', 'contended'], ...UNSURE },
  },
  'POST /v1/invitations': {
    summary: 'Makes an invitation, with which a machine becomes a host, once',
    ...{ body: invitationRequest, example: { host: 'host-7', hosts: ['10.0.0.7'], ttlMs: 3_600_000 } },
    answers: [{ status: 201, of: 'NewInvitation' }],
    errors: { ...BAD, 409: ['too-many-invitations'], ...UNSURE },
  },
  'POST /v1/join': {
    summary: 'Makes the machine that shows an invitation a host',
    body: joinRequest,
    answers: ok('JoinAnswer'),
    errors: {
      ...BAD,
      403: ['not-invited', 'invitation-gone', 'invitation-ended', 'invitation-used'],
      ...UNSURE,
    },
  },
  'GET /v1/audit': {
    summary: 'Lists who did what',
    query: [
      text('by', 'who begins with this'),
      text('act', 'this act only'),
      text('target', 'what begins with this'),
      NAMESPACE,
      count('since', 'from then on, in milliseconds since 1970'),
      count('limit', 'the newest so many, 1,000 at most'),
    ],
    answers: ok('AuditAnswer'),
    errors: BAD,
  },
};
