#!/usr/bin/perl
# A SimSpark server in one process without threads. Between two steps it executes all commands.
# Usage: simspark_server.pl AGENT_PORT MONITOR_PORT [SWITCH[,SWITCH…]]
use strict;
use warnings;
use FindBin;
use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw(time);

our ($STEP, $shape, @agents, @monitors, %state, %switch, $selected) = (0.02, 0);
my ($agent_port, $monitor_port, $words) = @ARGV;
%switch = map { $_ => 1 } split /,/, $words // '';
require "$FindBin::Bin/simspark_$_.pl" for qw(world scene);
$SIG{PIPE} = 'IGNORE';

my %client;
my %listening;    # the kind of client by the socket that accepts it
my $reading = IO::Select->new;
for (['agent', $agent_port], ['monitor', $monitor_port]) {
    my ($kind, $port) = @$_;
    my @address = (LocalAddr => '127.0.0.1', LocalPort => $port, ReuseAddr => 1);
    my $socket = IO::Socket::INET->new(@address, Listen => 50) or die "listen: $!";
    $listening{$socket} = $kind;
    $reading->add($socket);
}

sub post {        # returns false if a peer does not read
    my ($peer, $text) = @_;
    return 0 if length $peer->{out} > 200_000;
    $peer->{out} .= pack 'N/a', "$text\n";
    return 1;
}

sub admit {
    my ($socket, $kind) = @_;
    $socket->blocking(0);
    $reading->add($socket);
    my $peer = { socket => $socket, kind => $kind, in => '', out => '', shape => -1, said => [] };
    $client{$socket} = $peer;
    push @{ $kind eq 'monitor' ? \@monitors : \@agents }, $peer;
}

sub dismiss {
    my $peer = shift;
    $reading->remove($peer->{socket});
    delete $client{ $peer->{socket} };
    close $peer->{socket};
    @monitors = grep { $_ != $peer } @monitors;
    @agents = grep { $_ != $peer } @agents;
    $shape++ if $peer->{body};
    undef $selected if $selected && $selected == $peer;
}

sub receive {
    my $peer = shift;
    my $got = sysread $peer->{socket}, $peer->{in}, 65536, length $peer->{in};
    return dismiss($peer) if defined $got ? !$got : !$!{EAGAIN};
    while (length $peer->{in} >= 4) {
        my $size = unpack 'N', $peer->{in};
        last if length $peer->{in} < 4 + $size;
        my $text = substr $peer->{in}, 4, $size;
        substr $peer->{in}, 0, 4 + $size, '';
        execute($peer, $text) or return dismiss($peer);
    }
}

my ($due, $steps) = (time, 0);
while (1) {
    my $left = $due - time;
    for my $socket ($reading->can_read($left > 0 ? $left : 0)) {
        if (my $kind = $listening{$socket}) {
            my $new = $socket->accept;
            admit($new, $kind) if $new;
        } elsif ($client{$socket}) {
            receive($client{$socket});
        }
    }
    next if time < $due;
    $due = $due < time - 1 ? time : $due + $STEP;
    step();
    show() if $steps++ % 2 == 0;
    for my $peer (grep { length $_->{out} } @agents, @monitors) {
        my $sent = syswrite $peer->{socket}, $peer->{out};
        substr $peer->{out}, 0, $sent, '' if $sent;
    }
}
