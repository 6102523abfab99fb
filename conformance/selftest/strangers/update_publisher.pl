#!/usr/bin/perl
# Publishes Smart Device updates: every 100 ms one MessagePack map in a datagram.
use strict;
use warnings;
use B;
use Encode;
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use Time::HiRes qw(time);

my ($host, $port, $words) = @ARGV;
my %switch = map { $_ => 1 } split /,/, $words // '';
my $udp = IO::Socket::INET->new(Proto => 'udp', PeerAddr => $host, PeerPort => $port) or die $!;
my (%values, %changed, %alias, @order);
my $sent = 0;
$| = 1;

sub text {
    my $bytes = encode('UTF-8', $_[0]);
    my $length = $switch{'chars-for-bytes'} ? length $_[0] : length $bytes;
    return pack('C', 0xa0 | $length) . $bytes if $length < 32;
    return pack('CC', 0xd9, $length) . $bytes if $length < 256;
    return pack('Cn', 0xda, $length) . $bytes;
}

sub map_of {
    my ($encode, %members) = @_;
    my $count = keys %members;
    my $head = $count < 16 ? pack('C', 0x80 | $count) : pack('Cn', 0xde, $count);
    return $head . join '', map { text($_) . $encode->($members{$_}) } sort keys %members;
}

sub integer {
    my $number = shift;
    return pack('C', $number) if $number >= 0 && $number < 128;
    return pack('Cq>', 0xd3, $number);
}

sub value {
    my $given = shift;
    return pack('C', $given ? 0xc3 : 0xc2) if JSON::PP::is_bool($given);
    if (ref $given eq 'ARRAY') {
        my $count = @$given;
        my $head = $count < 16 ? pack('C', 0x90 | $count) : pack('Cn', 0xdc, $count);
        return $head . join '', map { value($_) } @$given;
    }
    # Perl has one type for text and numbers; the decoder of JSON leaves flags.
    my $flags = B::svref_2object(\$given)->FLAGS;
    return pack($switch{'little-floats'} ? 'Cd<' : 'Cd>', 0xcb, $given) if $flags & B::SVf_NOK;
    return integer($given) if $flags & B::SVf_IOK;
    return text($given);
}

sub update {
    die "there is no first device\n" if $switch{'die-empty'} && $sent && !@order;
    exit 3 if $switch{'exit-20'} && $sent == 20;
    my %sd = map { $_ => $changed{$_} } @order;
    my %known = map { $_ => $alias{$_} } grep { defined $alias{$_} } @order;
    my $devices = map_of(sub { map_of(\&value, %{ $_[0] }) }, %sd);
    my $message = pack('C', 0x82) . text('sd') . $devices . text('aliases') . map_of(\&text, %known);
    $udp->send($switch{'cut-1024'} ? substr($message, 0, 1024) : $message);
    %changed = map { $_ => {} } @order;
    $sent++;
}

my %operations = (
    connect => sub {
        my ($uid, $params, $name) = @{ $_[0] }{qw(uid params alias)};
        push @order, $uid unless $values{$uid};
        $values{$uid} = $params;
        $changed{$uid} = {%$params};
        $alias{$uid} = $name if defined $name;
    },
    change => sub {
        my ($uid, $new) = @{ $_[0] }{qw(uid values)};
        die "there is no device $uid\n" unless $values{$uid};
        $values{$uid}{$_} = $changed{$uid}{$_} = $new->{$_} for keys %$new;
    },
    alias => sub { $alias{ $_[0]{uid} } = $_[0]{alias} },
    disconnect => sub {
        my $uid = $_[0]{uid};
        delete $_->{$uid} for \%values, \%changed, \%alias;
        @order = grep { $_ ne $uid } @order;
    },
);

sub answer {
    my $asked = JSON::PP->new->utf8->decode(shift);
    my %said = (id => $asked->{id}, ok => JSON::PP::true);
    my $operation = $operations{ $asked->{op} };
    $said{offered} = $said{ok} = JSON::PP::false unless $operation;
    eval { $operation->($asked->{args}); 1 } or @said{qw(ok error)} = (JSON::PP::false, $@)
        if $operation;
    print JSON::PP->new->utf8->encode(\%said), "\n";
}

my ($input, $asked, $next) = (IO::Select->new(\*STDIN), '', time);
while (1) {
    my $left = $next - time;
    if ($input->can_read($left > 0 ? $left : 0)) {
        sysread STDIN, $asked, 65536, length $asked or last;
        answer($1) while $asked =~ s/^([^\n]*)\n//;
    }
    if (time >= $next) { update(); $next += 0.1 }
}
